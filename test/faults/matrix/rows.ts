import { copyRows } from './copies.ts';
import { diskRows } from './disk.ts';
import { programRows } from './programs.ts';
import { receiverRows } from './receiver.ts';
import type { Row } from './row.ts';
import { serviceRows } from './service.ts';
import { timeAndProcessRows } from './time-and-process.ts';

/** Every fault that was thought of: the eighty of reliability.md, those of copies, followers and instances, and programs of their own. */
export const rows: readonly Row[] = [
  ...diskRows,
  ...receiverRows,
  ...serviceRows,
  ...timeAndProcessRows,
  ...copyRows,
  ...programRows,
];

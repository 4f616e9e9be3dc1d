import { CataloguedError, exitCodes } from '../errors.ts';
import type { Database } from './read-only.ts';

/** CTLG, CATM, CATR, CATS and CTLI: the marks of the mirrors and inboxes of development versions, which were never released. */
const marks = new Set([0x43544c47, 0x4341544d, 0x43415452, 0x43415453, 0x43544c49]);

/** Returns whether a file was written by a development version, whose schema no released version knows. */
export function isOfDevelopment(db: Database): boolean {
  return isDevelopmentMark(Number(db.pragma('application_id', { simple: true })));
}

/** Tells the same by the mark of the file, its application_id. */
export function isDevelopmentMark(mark: number): boolean {
  return marks.has(mark);
}

export const ofDevelopment = 'it was written by a development version, before 1.0.0';

/** The refusal of a file of a development version: what it is, what is lost without it, and what to type. */
export function developmentFile(path: string): CataloguedError {
  return new CataloguedError('development-file', `${path} cannot be used: ${ofDevelopment}`, {
    exitCode: exitCodes.data,
    hint: 'stop the daemon, and: catalogued repair, which sets the files aside, destroys nothing, and has the next start fill the mirror again. Lost are the callback addresses (the subscriptions are applied again) and the feed numbers (readers of the feed start over)',
  });
}

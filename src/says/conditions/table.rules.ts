import type { ConditionKind } from './condition.rules.ts';
import { ofCatalogue } from './of-catalogue.rules.ts';
import { ofFiles } from './of-files.rules.ts';
import { ofPush } from './of-push.rules.ts';
import { ofService } from './of-service.rules.ts';

const table = { ...ofFiles, ...ofService, ...ofCatalogue, ...ofPush };

/** Name of a condition: a contract, in JSON, metrics and alerts. */
export type ConditionCode = keyof typeof table;

/**
 * The one table of conditions, in the order in which people see them. Doctor, `status`, the page, the metrics, the
 * alert rules and docs/reference/conditions.md are made from it.
 */
export const conditionTable: Readonly<Record<ConditionCode, ConditionKind>> = table;

export const conditionCodes = Object.keys(table) as readonly ConditionCode[];

export function isCondition(code: string): code is ConditionCode {
  return Object.hasOwn(table, code);
}

/** Returns the instruction for a condition, as plain text. */
export function todoOf(code: ConditionCode): string {
  return plain(table[code].todo);
}

/** Returns text of the table without backticks. */
export function plain(text: string): string {
  return text.replaceAll('`', '');
}

import { conditionCodes } from '../domain/conditions/table.ts';
import { bit, gauge, type MeasuredFamily } from './measured.ts';

/** The metrics about conditions, in the order of their table. */
export const conditionFamilies: readonly MeasuredFamily[] = [
  gauge(
    'catalogued_condition',
    'Is 1 while a condition holds and is no consequence of another one, else 0.',
    ({ status: { conditions } }) => {
      const held = new Set(conditions.map(({ code }) => code));
      return conditionCodes.map((code) => ({ labels: { code }, value: bit(held.has(code)) }));
    },
  ),
  gauge(
    'catalogued_condition_acknowledged',
    'Of the conditions that hold: is 1 if a person has acknowledged it, else 0.',
    ({ status }) =>
      status.conditions.map(({ code, acknowledged }) => ({ labels: { code }, value: bit(acknowledged !== null) })),
  ),
  gauge(
    'catalogued_alarm',
    'Is 1 while a condition holds, also as a consequence of another one, else 0; catalogued_condition says more.',
    ({ status: { conditions } }) => {
      const held = new Set(conditions.flatMap(({ code, explains }) => [code, ...explains]));
      return conditionCodes.map((kind) => ({ labels: { kind }, value: bit(held.has(kind)) }));
    },
  ),
];

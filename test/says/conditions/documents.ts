import { duration } from '../../../src/kernel/format.ts';
import type { ConditionKind } from '../../../src/says/conditions/condition.rules.ts';
import { promiseTable } from '../../../src/says/conditions/promises.rules.ts';
import { type ConditionCode, conditionCodes, conditionTable, plain } from '../../../src/says/conditions/table.rules.ts';

/*
 * What is made from the table of conditions and stands in files: a row of the documents and a rule of Prometheus for each.
 */

/** The parts of docs/reference/conditions.md: of each condition what it means and what to do, and when a target is missed. */
export const documentedConditions = {
  conditions: conditionCodes
    .map((code) => {
      const { about, severity, means, todo, visible_after_ms } = conditionTable[code];
      const after = visible_after_ms === undefined ? '' : ` Shown after ${duration(visible_after_ms)}.`;
      return `### ${code}\n\n${upperFirst(severity)} “${about}”: ${means}.${after}\n\n**Do:** ${todo}.`;
    })
    .join('\n\n'),
  targets: [
    '| Target | Missed while this holds |',
    '|---|---|',
    ...promiseTable.map(({ promise, broken_by }) => {
      const codes = broken_by.map((code) => `[\`${code}\`](#${code})`);
      return `| ${promise} | ${codes.join(', ')} |`;
    }),
  ].join('\n'),
};

const unacknowledged = 'unless on (instance, code) catalogued_condition_acknowledged == 1';

/** Rules about what a daemon cannot say of itself, or nobody may acknowledge away. */
const ownRules = [
  rule('CataloguedDown', {
    expr: 'up{job="catalogued"} == 0',
    for: '5m',
    severity: 'error',
    summary: 'The daemon does not answer: readers go on, and nothing is refreshed.',
    todo: 'systemctl status catalogued, then its log.',
  }),
  rule('CataloguedAbsent', {
    expr: 'absent(up{job="catalogued"})',
    for: '10m',
    severity: 'error',
    summary: 'Prometheus knows of no daemon to ask.',
    todo: 'See the scrape configuration.',
  }),
  rule('CataloguedMetricsAbsent', {
    expr: 'up{job="catalogued"} == 1 unless on (instance) catalogued_true',
    for: '5m',
    severity: 'error',
    summary: 'Something answers where the daemon should, without its metrics.',
    todo: 'See what listens at admin.listen.',
  }),
  rule('CataloguedNotTrue', {
    expr: `catalogued_true == 0 and on (instance) catalogued_filled_timestamp_seconds and on (instance) (catalogued_condition == 1 ${unacknowledged})`,
    for: '30m',
    severity: 'error',
    summary: 'The mirror has not been true for half an hour.',
    todo: 'catalogued status says why.',
  }),
];

/** Returns config/monitoring/alerts.yaml. */
export function alertRules(): string {
  const rules = conditionCodes.map((code) => ruleOf(code, conditionTable[code]));
  return `# Made from the table of conditions (src/says/conditions/); the severities are its own: route "error" to whoever is on
# call. A condition that somebody has acknowledged (catalogued ack) fires no more until it has ended and come again.
groups:
  - name: catalogued
    rules:
${[...ownRules, ...rules].join('')}`;
}

function ruleOf(code: ConditionCode, { severity, means, todo }: ConditionKind): string {
  const name = code.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return rule(`Catalogued${name}`, {
    expr: `catalogued_condition{code="${code}"} == 1 ${unacknowledged}`,
    severity,
    summary: `${upperFirst(plain(means))}.`,
    todo: `${plain(todo)}.`,
  });
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

interface Rule {
  readonly expr: string;
  readonly for?: string;
  readonly severity: string;
  readonly summary: string;
  readonly todo: string;
}

function rule(alert: string, { expr, for: lasting, severity, summary, todo }: Rule): string {
  return `      - alert: ${alert}
        expr: ${expr}
${lasting === undefined ? '' : `        for: ${lasting}\n`}        labels: { severity: ${severity} }
        annotations:
          summary: ${JSON.stringify(summary)}
          todo: ${JSON.stringify(todo)}
`;
}

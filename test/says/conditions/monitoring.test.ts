import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { conditionCodes } from '../../../src/says/conditions/table.rules.ts';
import { metricFamilies } from '../../../src/says/metrics/metric-families.ts';
import { needs } from '../../fakes/needs.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

const rules = fileURLToPath(new URL('../../../config/monitoring/alerts.yaml', import.meta.url));
const known = new Set([...metricFamilies.map(({ name }) => name)]);
const metricsIn = (text: string) =>
  [...text.matchAll(/\b(?:catalogued|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name);

interface Fires {
  readonly series: Readonly<Record<string, string>>;
  /** By when: the alerts that fire, and nothing else. */
  readonly at: Readonly<Record<string, readonly string[]>>;
}

/** Prometheus's own test of rules, by the minute. A condition is what it is in real samples: 0 unless it is given. */
function judge(cases: readonly Fires[]): void {
  using directory = temporaryDirectory();
  // Labels and texts are those of the file, so that only who fires is compared.
  const text = readFileSync(rules, 'utf8').replaceAll(/ {8}(annotations:| {2}(?:summary|todo): .*)\n/g, '');
  const names = [...readFileSync(rules, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const from = { instance: 'a:1', job: 'catalogued' };
  const labels = (more: string) =>
    `{${[...Object.entries(from).map(([k, v]) => `${k}="${v}"`), more].filter(Boolean).join(',')}}`;
  const tests = cases.map(({ series, at }) => ({
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => {
      const [family = '', more = ''] = name.split('|');
      return { series: family + labels(more), values };
    }),
    alert_rule_test: Object.entries(at).flatMap(([eval_time, wanted]) =>
      names
        .filter((name) => isRelated(name, Object.keys(series)))
        .map((alertname) => ({
          eval_time,
          alertname,
          exp_alerts: wanted.includes(alertname) ? [firing(alertname, Object.keys(series))] : [],
        })),
    ),
  }));
  writeFileSync(join(directory.path, 'alerts.yaml'), text);
  writeFileSync(
    join(directory.path, 'test.yaml'),
    JSON.stringify({ rule_files: ['alerts.yaml'], evaluation_interval: '1m', tests }),
  );
  execFileSync('promtool', ['test', 'rules', join(directory.path, 'test.yaml')], { stdio: 'pipe' });

  function firing(alertname: string, given: readonly string[]) {
    const [, severity = ''] = new RegExp(`alert: ${alertname}\\n[\\s\\S]*?severity: (\\w+)`).exec(text) ?? [];
    const code = given
      .flatMap((name) => /code="([a-z-]+)"/.exec(name)?.[1] ?? [])
      .find((each) => alertname === nameOf(each));
    const absent = alertname === 'CataloguedAbsent' ? { job: 'catalogued' } : from;
    return { exp_labels: { severity, ...absent, ...(code === undefined ? {} : { code }) } };
  }
}

/** Whether an alert is about one of these series, or about all of them. */
function isRelated(alertname: string, series: readonly string[]): boolean {
  const codes = series.flatMap((name) => /code="([a-z-]+)"/.exec(name)?.[1] ?? []);
  return !conditionCodes.some((code) => nameOf(code) === alertname) || codes.some((code) => nameOf(code) === alertname);
}

function nameOf(code: string): string {
  return `Catalogued${code.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}`;
}

const healthy = {
  up: '1x60',
  catalogued_true: '1x60',
  catalogued_filled_timestamp_seconds: '1x60',
};

describe('the alert rules', needs('promtool'), () => {
  it('are silent where nothing is wrong', () => {
    const conditions = Object.fromEntries(
      conditionCodes.map((code) => [`catalogued_condition|code="${code}"`, '0x60']),
    );
    judge([{ series: { ...healthy, ...conditions }, at: { '1m': [], '50m': [] } }]);
  });

  it('fire for each condition while it holds, for no other, and not when somebody has acknowledged it', () => {
    const half = (wanted: 0 | 1) => conditionCodes.filter((_, at) => at % 2 === wanted);
    judge(
      ([0, 1] as const).map((wanted) => {
        const [first = '', ...others] = half(wanted);
        const held = [first, ...others].map((code) => [`catalogued_condition|code="${code}"`, '0x9 1x10 0x40']);
        const not = half(wanted === 0 ? 1 : 0).map((code) => [`catalogued_condition|code="${code}"`, '0x60']);
        const known = { [`catalogued_condition_acknowledged|code="${first}"`]: '_x14 1x5' };
        return {
          series: { ...healthy, ...Object.fromEntries([...held, ...not]), ...known },
          at: { '5m': [], '12m': half(wanted).map(nameOf), '18m': others.map(nameOf), '25m': [] },
        };
      }),
    );
  });

  it('fire where the mirror is not true for half an hour, but not before it was filled or if all is acknowledged', () => {
    const outdated = { ...healthy, catalogued_true: '0x60', 'catalogued_condition|code="freshness-missed"': '1x60' };
    const { catalogued_filled_timestamp_seconds: _, ...filling } = outdated;
    const acknowledged = { ...outdated, 'catalogued_condition_acknowledged|code="freshness-missed"': '1x60' };
    judge([
      {
        series: outdated,
        at: { '29m': ['CataloguedFreshnessMissed'], '31m': ['CataloguedFreshnessMissed', 'CataloguedNotTrue'] },
      },
      { series: filling, at: { '31m': ['CataloguedFreshnessMissed'] } },
      { series: acknowledged, at: { '31m': [] } },
    ]);
  });

  it('fire for a daemon that is down, unknown, or has no metrics', () => {
    judge([
      { series: { ...healthy, up: '0x60' }, at: { '4m': [], '6m': ['CataloguedDown'] } },
      { series: { up: '1x60' }, at: { '4m': [], '6m': ['CataloguedMetricsAbsent'] } },
      { series: {}, at: { '9m': [], '11m': ['CataloguedAbsent'] } },
    ]);
  });

  it('would be noticed if they did not (control)', () => {
    expect(() => judge([{ series: { ...healthy, up: '0x60' }, at: { '6m': [] } }])).toThrow('promtool');
  });
});

describe('the dashboard for Grafana', () => {
  const text = readFileSync(new URL('../../../config/grafana/catalogued.json', import.meta.url), 'utf8');
  const { panels } = JSON.parse(text) as {
    panels: {
      id: number;
      title: string;
      description: string;
      targets: { expr: string }[];
      gridPos: Record<string, number>;
    }[];
  };

  it('asks for metrics that exist, of the chosen instances', () => {
    const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(asked.length).toBeGreaterThan(20);
    expect(asked.flatMap(metricsIn).filter((name) => !known.has(name))).toEqual([]);
    for (const expr of asked) expect(expr.match(/instance=~"\$instance"/g)?.length, expr).toBe(metricsIn(expr).length);
  });
});

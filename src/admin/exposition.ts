/*
 * The text format of Prometheus 0.0.4, and the only file that knows it. Every value here is computed from a status that
 * stands: prom-client keeps registries of counters that count by themselves, and brings three packages.
 */

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
}

/** A family without samples keeps its HELP and TYPE: that there is nothing to say of it can be seen. */
export function exposition(families: readonly (Family & { readonly samples: readonly Sample[] })[]): string {
  return families
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(({ labels, value }) => `${name}${written(labels)} ${numeral(value)}\n`);
      return `# HELP ${name} ${escaped(help, /[\\\n]/g)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
}

function written(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, /[\\\n"]/g)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string, special: RegExp): string {
  return text.replace(special, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

function numeral(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

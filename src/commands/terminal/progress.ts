import type { FirstFill } from '../../daemon/daemon.ts';
import type { UpgradeProgress, UpgradeWatch } from '../../files/backup/upgrade.ts';
import { systemClock } from '../../kernel/clock.ts';
import { counted, megabytes, number, remaining } from '../../kernel/format.ts';
import type { Io } from './io.ts';

/** The progress of a long operation. `total` may grow while it runs. */
export interface Progress {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
  readonly calls: number;
  /** A condition to show: throttled (until when) or unreachable (since when). */
  readonly note: string | null;
}

/** Prints progress: one line that is rewritten on a terminal, elsewhere a plain line every ten seconds. */
export interface ProgressPrinter {
  show(progress: Progress, now: number): void;
  /** Takes the rewritten line away, so that something else can be printed; it comes back with the next progress. */
  clear(): void;
  /** Ends the rewritten line, which stays visible. */
  end(): void;
}

const plainEveryMs = 10_000;
const rateOverMs = 30_000;

export function progressPrinter({ stderr }: Io): ProgressPrinter {
  const samples: { at: number; calls: number; done: number }[] = [];
  let printedAt = Number.NEGATIVE_INFINITY;
  let open = false;
  return {
    show: (progress, now) => {
      samples.push({ at: now, calls: progress.calls, done: progress.done });
      while (samples.length > 2 && (samples[0]?.at ?? now) < now - rateOverMs) samples.shift();
      const text = line(progress, samples);
      if (stderr.isTTY) {
        stderr.write(`\r\u001b[K${text.slice(0, (stderr.columns ?? 100) - 1)}`);
        open = true;
      } else if (now - printedAt >= plainEveryMs) {
        stderr.write(`${text}\n`);
        printedAt = now;
      }
    },
    clear: () => {
      if (open) stderr.write('\r\u001b[K');
      open = false;
    },
    end: () => {
      if (open) stderr.write('\n');
      open = false;
    },
  };
}

/** Shows a first fill each second until it is done, or until it is disposed. */
export function showFill(
  printer: ProgressPrinter,
  fill: () => Promise<FirstFill | 'filled' | null>,
): Disposable & { readonly done: Promise<void> } {
  const ending = new AbortController();
  const done = showWhile(printer, fill, ending.signal);
  // The daemon itself reports that its mirror cannot be read.
  done.catch(() => undefined);
  return { done, [Symbol.dispose]: () => ending.abort() };
}

async function showWhile(
  printer: ProgressPrinter,
  fill: () => Promise<FirstFill | 'filled' | null>,
  signal: AbortSignal,
): Promise<void> {
  using _ = { [Symbol.dispose]: printer.end };
  while (!signal.aborted) {
    const found = await fill();
    if (found === 'filled') return;
    if (found !== null && !signal.aborted) printer.show({ phase: 'filling', ...found }, systemClock.now());
    await systemClock.sleep(1000, signal).catch(() => undefined);
  }
}

function line(
  { phase, done, total, calls, note }: Progress,
  samples: readonly { at: number; calls: number; done: number }[],
): string {
  const [first, last] = [samples[0], samples.at(-1)];
  const seconds = first === undefined || last === undefined ? 0 : (last.at - first.at) / 1000;
  const rate = seconds > 0 && first && last ? (last.calls - first.calls) / seconds : 0;
  const speed = seconds > 0 && first && last ? (last.done - first.done) / seconds : 0;
  const share = total > 0 ? `${Math.floor((100 * done) / total)} %` : '';
  const left = speed > 0 ? `${remaining(((total - done) / speed) * 1000)} left` : '';
  const facts = [
    `${number(done)} of ${counted(total, 'record')}`,
    share,
    counted(calls, 'call'),
    `${number(Math.round(rate))}/s`,
    left,
    note,
  ];
  return `${phase}: ${facts.filter(Boolean).join(', ')}`;
}

/**
 * Follows an upgrade: in one line that is rewritten on a terminal (elsewhere the log reports it), and through `told`.
 * An interrupt ends its backup.
 */
export function upgradeOn(
  { stderr, signal }: Io,
  told: (says: string, phase: UpgradeProgress['phase']) => Promise<void> = async () => undefined,
): UpgradeWatch {
  return {
    signal,
    show: async (progress) => {
      const says = inWords(progress);
      if (stderr.isTTY) stderr.write(`\r\u001b[K${says}${progress.phase === 'change' ? '\n' : ''}`);
      await told(says, progress.phase);
    },
  };
}

function inWords(progress: UpgradeProgress): string {
  if (progress.phase === 'change') return 'upgrade: backup made, changing the schema';
  const { done, total } = progress;
  const share = total === 0 ? '' : `, ${Math.floor((100 * done) / total)} %`;
  return `upgrade: ${megabytes(done)} of ${megabytes(total)} backed up${share}`;
}

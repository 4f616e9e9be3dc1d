import type { UpgradeProgress, UpgradeWatch } from '../../backup/upgrade.ts';
import { megabytes } from '../../format.ts';
import type { Io } from './io.ts';

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

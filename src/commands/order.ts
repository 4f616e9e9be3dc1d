import { Command, InvalidArgumentError } from 'commander';
import { adminClient } from '../admin/client.ts';
import { configPath, loadConfig } from '../config.ts';
import { createLog } from '../log.ts';
import { type OrderReport, reportOrder } from '../sync/orders.ts';
import { wire } from '../wiring.ts';
import { productId } from './explain.ts';
import type { Io } from './io.ts';
import { calendarDate } from './resync.ts';

export function orderCommand(io: Io): Command {
  const command = new Command('order').description(
    'Tells of an order: its dates are read again at once, and sales decide what counts as a top seller.',
  );
  for (const outcome of ['confirmed', 'failed'] as const) {
    const own = command
      .command(outcome)
      .description(outcome === 'confirmed' ? 'An order was confirmed.' : 'The service refused an order.')
      .argument('<product>', 'its id', productId)
      .requiredOption('--date <date>', 'the date that was ordered', calendarDate)
      .option('--quantity <tickets>', 'how many tickets', quantity, 1);
    if (outcome === 'failed') own.option('--code <code>', "the service's code, like variants_not_available");
    own
      .addHelpText(
        'after',
        `\nExamples:\n  catalogued order ${outcome} 973698 --date 2026-12-24\n  catalogued order ${outcome} 973698 --date 2026-12-24 ${outcome === 'confirmed' ? '--quantity 4' : '--code timeslot_not_available'}`,
      )
      .action(
        async (product_id: number, options: { date: string; quantity: number; code?: string }, given: Command) => {
          const { date, quantity: tickets, code = null } = options;
          const due = await tell(io, given, { product_id, date, quantity: tickets, outcome, code });
          io.stdout.write(`Noted; ${due === 0 ? 'its dates are being read already' : 'its dates are due now'}.\n`);
        },
      );
  }
  return command;
}

/** To the daemon where one runs, else into the file, holding the lock: the next run reads the dates. */
async function tell(io: Io, command: Command, report: OrderReport): Promise<number> {
  const file = configPath(command.optsWithGlobals<{ config?: string }>().config, io.env);
  const loaded = loadConfig({ file, env: io.env });
  const client = adminClient(loaded.config.admin.listen, loaded.secrets.admin_token);
  const answer = await client.call<{ due: number }>('POST', '/v1/orders', report);
  if (answer !== null) return answer.due;
  await using wiring = wire(loaded, createLog('error', io.stderr));
  return reportOrder(wiring.ports, report);
}

function quantity(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('a quantity is a whole number of tickets.');
  return Number(value);
}

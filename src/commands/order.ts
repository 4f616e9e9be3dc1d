import { Command, InvalidArgumentError } from 'commander';
import { QuietDaemon } from '../daemon/quiet.ts';
import { isOrderId } from '../desk/check-question.rules.ts';
import type { Rating } from '../desk/error-rate.rules.ts';
import type { IdentifiedOrder, OrderCounted } from '../desk/orders.ts';
import { recheckOrder } from '../desk/orders.ts';
import { calendarDate, productId, slotTime } from './options.ts';
import { askDaemon, configurationFor, machineFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

export function orderCommand(io: Io): Command {
  const command = new Command('order').description(
    'Reports an order: the dates around it are read again at once, and sales decide which products count as top sellers.',
  );
  for (const outcome of ['confirmed', 'failed'] as const) {
    const own = command
      .command(outcome)
      .description(
        outcome === 'confirmed'
          ? 'Reports an order that the service confirmed.'
          : 'Reports an order that the service refused.',
      )
      .argument('<product>', 'the product id', productId)
      .requiredOption('--date <date>', 'the date ordered (YYYY-MM-DD)', calendarDate)
      .option('--time <time>', 'the timeslot ordered, HH:MM or whole_day', slotTime)
      .option('--quantity <tickets>', 'the number of tickets', quantity, 1)
      .option('--order-id <id>', 'your own id of this attempt: sent repeatedly, it counts once', orderId);
    if (outcome === 'failed') own.option('--code <code>', 'the error code of the service, like variants_not_available');
    own
      .addHelpText(
        'after',
        `\nExamples:\n  catalogued order ${outcome} 973698 --date 2026-12-24\n  catalogued order ${outcome} 973698 --date 2026-12-24 ${outcome === 'confirmed' ? '--quantity 4' : '--code timeslot_not_available'}`,
      )
      .action(
        async (
          product_id: number,
          options: { date: string; time?: string; quantity: number; code?: string; orderId?: string },
          given: Command,
        ) => {
          const { date, time = null, quantity: tickets, code = null, orderId: order_id = null } = options;
          const order = { product_id, date, time, quantity: tickets, outcome, code, order_id };
          io.stdout.write(await report(io, given, order));
        },
      );
  }
  return command;
}

/** Reports to the daemon if one runs; else to a quiet one, whose read of the dates it awaits. */
async function report(io: Io, command: Command, report: IdentifiedOrder): Promise<string> {
  const loaded = configurationFor(io, command);
  const call = { operation: 'POST /v1/orders', body: report } as const;
  const noted = await askDaemon(io, loaded, call);
  if (noted !== null) return said(noted, noted.due === 0 ? 'are already being read' : 'are due now');
  await using quiet = await QuietDaemon.start(machineFor(io), loaded, io.signal);
  const own = await quiet.call(call);
  const read = own.repeated || (await recheckOrder(quiet.daemon.checks, report, io.signal));
  io.signal.throwIfAborted();
  return said(own, read ? 'were read again' : 'are due, because the service did not answer');
}

function said({ mirror, repeated }: OrderCounted, dates: string): string {
  if (repeated) return 'Already known: an order counts once.\n';
  const wrong = mirror === null ? null : wrongText[mirror];
  return `Noted; its dates ${dates}.${wrong === null ? '' : ` The mirror had said ${wrong}.`}\n`;
}

const wrongText: Readonly<Record<Rating, string | null>> = {
  right: null,
  unknown: null,
  'said-available': 'available',
  'said-sold-out': 'sold out',
  'said-price': 'another price',
};

function orderId(value: string): string {
  if (!isOrderId(value)) throw new InvalidArgumentError('expected one to two hundred characters.');
  return value;
}

function quantity(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('expected a whole number of tickets.');
  return Number(value);
}

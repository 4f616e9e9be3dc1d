import { Command, InvalidArgumentError } from 'commander';
import { isOrderId } from '../domain/checks/check-question.ts';
import type { Rating } from '../domain/checks/error-rate.ts';
import { checkPorts } from '../sync/checks/check.ts';
import { countOnce, type IdentifiedOrder, type OrderCounted } from '../sync/checks/order-once.ts';
import { recheckOrder } from '../sync/checks/orders.ts';
import { daemonOrHere } from './daemon-or-here.ts';
import { calendarDate, productId, slotTime } from './options.ts';
import { configurationFor } from './setup.ts';
import type { Io } from './terminal/io.ts';

export function orderCommand(io: Io): Command {
  const command = new Command('order').description(
    'Reports an order: its dates are read again at once, and sales decide which products count as top sellers.',
  );
  for (const outcome of ['confirmed', 'failed'] as const) {
    const own = command
      .command(outcome)
      .description(outcome === 'confirmed' ? 'An order was confirmed.' : 'The service refused an order.')
      .argument('<product>', 'its id', productId)
      .requiredOption('--date <date>', 'the date that was ordered', calendarDate)
      .option('--time <time>', 'HH:MM or whole_day', slotTime)
      .option('--quantity <tickets>', 'how many tickets', quantity, 1)
      .option('--order-id <id>', 'your own id of this attempt: it counts once, however often it is sent', orderId);
    if (outcome === 'failed') own.option('--code <code>', "the service's code, like variants_not_available");
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

/** To the daemon where one runs; else into the file, holding the lock, and the dates are read here. */
async function report(io: Io, command: Command, report: IdentifiedOrder): Promise<string> {
  const { read, ...noted }: OrderCounted & { readonly read?: boolean } = await daemonOrHere(
    { io, loaded: configurationFor(io, command) },
    { operation: 'POST /v1/orders', body: report },
    async (wiring) => {
      await using checks = checkPorts(wiring);
      const own = countOnce(checks, wiring.inbox.orders, report);
      if (own.repeated) return own;
      return { ...own, read: await recheckOrder(checks, report, io.signal) };
    },
  );
  if (read === undefined) return said(noted, noted.due === 0 ? 'are being read already' : 'are due now');
  return said(noted, read ? 'were read again' : 'are due: the service did not answer');
}

function said({ mirror, repeated }: OrderCounted, dates: string): string {
  if (repeated) return 'Known already: an order counts once.\n';
  const wrong = mirror === null ? null : wrongWords[mirror];
  return `Noted; its dates ${dates}.${wrong === null ? '' : ` The mirror had it as ${wrong}.`}\n`;
}

const wrongWords: Readonly<Record<Rating, string | null>> = {
  right: null,
  unknown: null,
  'said-available': 'available',
  'said-sold-out': 'sold out',
  'said-price': 'price',
};

function orderId(value: string): string {
  if (!isOrderId(value)) throw new InvalidArgumentError('an id is one to two hundred characters.');
  return value;
}

function quantity(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('a quantity is a whole number of tickets.');
  return Number(value);
}

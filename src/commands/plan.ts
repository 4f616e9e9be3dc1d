import { Command } from 'commander';
import { policyOf } from '../daemon/policy.ts';
import { systemClock } from '../kernel/clock.ts';
import { counted, duration, number, percent } from '../kernel/format.ts';
import { openMirrorFacts } from '../mirror/reading.ts';
import { type DeclaredEndpoint, declarationOf } from '../push/declaration.ts';
import { makePlan, type Plan } from '../schedule/call-plan.ts';
import type { Resource } from '../schedule/resources.rules.ts';
import { configurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { printFolded, readableWidth, table } from './terminal/table.ts';

export function planCommand(io: Io): Command {
  return new Command('plan')
    .description(
      'Shows what the call budget covers: calls a day, how long each sweep takes, and what changes would cost. ' +
        'Exit 0: the budget is enough for every freshness target; 1: a sweep cannot finish in time.',
    )
    .option(
      '--declaration',
      'list each endpoint, whether it is ingested or live, and how often it is called, as a vendor asks before certification',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued plan\n  catalogued plan --declaration\n  CATALOGUED_CADENCE__AVAILABILITY__HORIZON=180 catalogued plan --json | jq .calls_per_day',
    )
    .action((options: { declaration?: boolean; json?: boolean }, command: Command) => {
      const { config } = configurationFor(io, command);
      using mirror = openMirrorFacts(config.mirror.path);
      const offers = (resource: Resource) => mirror.schedule.offers.offers(resource);
      const plan = makePlan({ mirror, clock: systemClock, policy: policyOf(config, offers) });
      if (options.declaration) {
        const { service, cadence, subscriptions, receiver } = config;
        const settings = {
          paths: service.profile.paths,
          cadence,
          subscriptions: subscriptions.length,
          public_url: receiver.public_url,
        };
        const endpoints = declarationOf(settings, plan, offers);
        print(io, options, { endpoints }, () => declared(endpoints, service.base_url, readableWidth(io)));
        return;
      }
      printFolded(io, options, plan, (width) => render(plan, width));
      if (plan.broken.length > 0) io.answerIsNo();
    });
}

function render(plan: Plan, width: number): string {
  const { lines, calls_per_day, ceiling, rate, share_of_ceiling, products } = plan;
  const learned = rate === null ? '' : `, ${rate.toFixed(1)} learned`;
  const rows = lines.map((line) => [
    line.lane,
    line.what,
    line.records === 0 ? '-' : number(line.records),
    number(Math.round(line.calls_per_day)),
  ]);
  const sweeps = plan.sweeps.map(({ what, calls, minutes }) => [what, number(calls), duration(minutes * 60_000)]);
  const needed = lines.filter(({ records }) => records > 0).reduce((sum, line) => sum + line.calls_per_day, 0);
  const changes = plan.what_if.map(({ change, calls_per_day: more }) => [
    change,
    `${more < 0 ? '-' : '+'}${number(Math.round(Math.abs(more)))}`,
    percent((needed + more) / (ceiling * 86_400)),
  ]);
  const buys = plan.buys.map(({ what, calls_per_day: calls, outdated }) => [
    what,
    number(Math.round(calls)),
    percent(outdated),
  ]);
  return `${[
    `${counted(products, 'product')}: ${counted(Math.round(calls_per_day), 'call')} a day, ${percent(share_of_ceiling)} of ${ceiling} a second${learned}`,
    '',
    table(['lane', 'what', 'records', 'calls a day'], rows, width),
    '',
    table(['one sweep, at the ceiling', 'calls', 'takes'], sweeps, width),
    '',
    ...(buys.length === 0
      ? []
      : [table(['this buys', 'calls a day', "shoppers' time with outdated data"], buys, width), '']),
    ...interestOf(plan),
    table(['this change, for the targets', 'calls a day', 'of the ceiling'], changes, width),
    '',
    ...targets(plan),
  ].join('\n')}\n`;
}

function interestOf({ interest, products }: Plan): string[] {
  if (interest === null) return [];
  const told =
    interest.viewed === 0
      ? "Nothing is told of what shoppers look at: products weigh by their category and the service's order of popularity"
      : `Products weigh by what shoppers look at: ${counted(Math.round(interest.views), 'view')} lately, of ${number(interest.viewed)} of ${counted(products, 'product')}`;
  return [`${told}; ten of them have ${(100 * interest.greatest).toFixed(0)} % of the weight.`, ''];
}

function declared(endpoints: readonly DeclaredEndpoint[], base_url: string, width: number): string {
  const rows = endpoints.map(({ endpoint, use, how_often, calls_per_day }) => [
    endpoint,
    use,
    how_often,
    calls_per_day === null ? '-' : number(calls_per_day),
  ]);
  return `${base_url}\n\n${table(['endpoint', 'use', 'how often', 'calls a day'], rows, width)}\n`;
}

function targets({ broken }: Plan): string[] {
  if (broken.length === 0) return ['The budget meets every freshness target.'];
  return broken.map(
    ({ lane, factor }) =>
      `The budget cannot meet the freshness targets of the lane ${lane}: it would be read ${factor === null ? 'never' : `${factor.toFixed(1)} times too late`}.`,
  );
}

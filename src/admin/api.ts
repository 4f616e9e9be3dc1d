import { z } from 'zod';
import { checkAnswer } from '../desk/check-answer.ts';
import { orderNoted } from '../desk/orders.ts';
import type { ReadOnly } from '../kernel/values/answer-values.ts';
import { explanation } from '../says/explain/explain.ts';
import { dateExplanation } from '../says/explain/explain-date.ts';
import { probe } from '../says/probe/probe.ask.ts';
import { plan } from '../schedule/call-plan.ts';
import { caller, checkQuestion, orderReport } from './api/checks.ts';
import { acknowledgement, conditionNamed, conditionPeriods, conditions, periodsAsked } from './api/conditions.ts';
import type { Operation } from './api/operation.ts';
import { type ReadOperation, reads } from './api/reads.ts';
import { reload } from './api/reload.ts';
import { doctor, explainedDate, explainedProduct, held, heldDecision, heldKind } from './api/reports.ts';
import { changes, changesAsked, job, jobAsked, resyncRequest, resyncStarted } from './api/resync.ts';
import { rows, rowsAsked } from './api/rows.ts';
import { jobAnswer, jobNamed, schedule } from './api/schedule.ts';
import { searchFound, searchQuestion } from './api/search.ts';
import { status } from './api/status.ts';
import {
  applications,
  applied,
  attempts,
  comparisons,
  one,
  oneOrAll,
  replay,
  replayed,
  subscriptionList,
} from './api/subscriptions.ts';
import { calendarDate, count, id, notObject, strict, whole } from './api/values.ts';

const most = { products: 500, count: 10_000 } as const;

const seenProduct = strict(
  {
    product_id: id,
    date: calendarDate.nullable().default(null).meta({ description: 'the date looked at; null: none in particular' }),
    count: whole(1, most.count, `a number of views from 1 to ${most.count}`).default(1),
  },
  '{"product_id": …, "date": …, "count": …}',
);

const seenReport = strict(
  {
    seen: z
      .array(seenProduct, `a list of one to ${most.products}`)
      .min(1, `a list of one to ${most.products}`)
      .max(most.products, `a list of one to ${most.products}`),
    caller,
  },
  notObject,
);

const seenCounted = z.object({
  counted: count.meta({ description: 'number of views' }),
  ignored: count.meta({
    description: 'views of products that are not mirrored, and of callers that told more than 30 times in a minute',
  }),
});

/*
 * The HTTP API under /v1 as one value. Routes validate requests by it, the daemon's answers and the
 * commands' client get their types from it, and `/openapi.json` is printed from it.
 */

const unwritable = { 503: 'the mirror or the inbox cannot be written now' } as const;
const notMirrored = { 404: 'the product is not in the mirror' } as const;

export const operations = {
  'GET /v1/status': {
    summary: 'Returns what is mirrored, how old it is, and which freshness targets are met',
    answer: status,
  },
  'GET /v1/conditions': {
    summary: 'Returns which conditions hold, and when each held: from an instant on, as far back as 90 days',
    query: periodsAsked,
    answer: conditionPeriods,
  },
  'POST /v1/conditions/{code}/acknowledge': {
    summary: 'Acknowledges a condition that holds, until it ends',
    path: conditionNamed,
    body: acknowledgement,
    answer: conditions,
    refusals: { 404: 'the condition does not hold', ...unwritable },
  },
  'GET /v1/plan': { summary: 'Returns what the call budget buys', answer: plan },
  'GET /v1/explain/{id}': {
    summary:
      'Explains when and why a product was read and will be read next; with a date, what the mirror said about that date',
    path: explainedProduct,
    query: explainedDate,
    answer: explanation.or(dateExplanation),
    missing: (id) => ({ error: 'unknown-product', message: `product ${id} is not in the mirror` }),
    refusals: notMirrored,
  },
  'GET /v1/changes': {
    summary: 'Returns the change feed after a cursor, as server-sent events to clients that accept text/event-stream',
    storefront: true,
    query: changesAsked,
    answer: changes,
    refusals: { 410: 'the cursor is too old, or belongs to another feed', 503: 'too many clients follow the feed' },
  },
  'GET /v1/rows': {
    summary: 'Returns the rows that have changed, for a copy on another host (catalogued follow)',
    storefront: true,
    query: rowsAsked,
    answer: rows,
    refusals: { 404: 'rows.publish is not set', 410: 'the copy has missed too much: begin with a new one' },
  },
  'GET /v1/rows/copy': {
    summary: 'Returns the file that such a copy begins with; its instant is in X-Published-At',
    storefront: true,
    answer: z.file(),
    refusals: { 404: 'rows.publish is not set', 503: 'a copy is being made for another follower' },
  },
  'POST /v1/check': {
    summary: 'Checks live, before an order, whether what was shown still holds',
    storefront: true,
    body: checkQuestion,
    answer: checkAnswer,
    refusals: { ...notMirrored, ...unwritable },
  },
  'POST /v1/search': {
    summary: 'Finds what a shopper means, as reader.search does, in a thread of its own',
    storefront: true,
    body: searchQuestion,
    answer: searchFound,
    refusals: { 503: 'too many searches are waiting' },
  },
  'POST /v1/orders': {
    summary: 'Reports an order, so that its dates are read again',
    storefront: true,
    body: orderReport,
    answer: orderNoted,
    refusals: { ...notMirrored, 409: 'this order id was used before with other contents', ...unwritable },
  },
  'POST /v1/seen': {
    summary: 'Counts what shoppers look at, so that it is read more often',
    storefront: true,
    body: seenReport,
    answer: seenCounted,
  },
  'POST /v1/resync': {
    summary: 'Makes the named records due now; a dry run returns only what that would cost',
    body: resyncRequest,
    answer: resyncStarted,
    refusals: unwritable,
  },
  'GET /v1/jobs/{id}': {
    summary: 'Returns the progress of a resync',
    path: jobAsked,
    answer: job,
    missing: (id) => ({ error: 'no-such-job', message: `there is no job ${id}` }),
    refusals: { 404: 'there is no such job' },
  },
  'GET /v1/schedule': {
    summary: "Returns the daemon's jobs: the last run of each, its result, and the next run",
    answer: schedule,
  },
  'POST /v1/schedule/{name}/run': {
    summary: 'Runs a job now, or joins the run under way; answers when it has ended',
    path: jobNamed,
    answer: jobAnswer,
    refusals: { 404: 'there is no such job' },
  },
  'POST /v1/reload': {
    summary:
      'Reads the configuration again. One that can be used takes over as soon as this is answered, else the old one stays; requests that come meanwhile wait',
    answer: reload,
  },
  'GET /v1/reload': { summary: 'Returns how the last reload ended', answer: reload },
  'GET /v1/held': {
    summary: 'Returns what the service claims of so many records at once that it is held',
    answer: held,
  },
  'POST /v1/held/approve': {
    summary: 'Believes what is held for a day: a subject, or all of less or price',
    body: heldKind,
    answer: heldDecision,
    refusals: unwritable,
  },
  'POST /v1/held/reject': {
    summary: 'Keeps what is shown for a day, as stale',
    body: heldKind,
    answer: heldDecision,
    refusals: unwritable,
  },
  'GET /v1/subscriptions': {
    summary: 'Returns the declared subscriptions and their last known state',
    answer: subscriptionList,
  },
  'POST /v1/subscriptions/compare': {
    summary: 'Asks the service, and compares what it has with what is declared',
    body: oneOrAll,
    answer: comparisons,
  },
  'POST /v1/subscriptions/apply': {
    summary: 'Sends the service every subscription that differs from its declaration',
    body: applied,
    answer: applications,
  },
  'POST /v1/subscriptions/reactivate': {
    summary: 'Asks the service to resume a subscription that it has stopped serving',
    body: one,
    answer: attempts,
  },
  'POST /v1/subscriptions/rotate': {
    summary: 'Gives the service a new callback address',
    body: oneOrAll,
    answer: attempts,
  },
  'POST /v1/notifications/replay': {
    summary: 'Applies every delivery received since a time once more',
    body: replayed,
    answer: replay,
    refusals: unwritable,
  },
  'GET /v1/doctor': {
    summary: 'Runs the checks of doctor that need a running daemon: the service, and the receiver',
    answer: doctor,
  },
  'POST /v1/probe': {
    summary: 'Compares the service with our assumptions about it, in at most 40 calls',
    answer: probe,
    refusals: { 409: 'a probe is already running' },
  },
  ...reads,
} as const satisfies Record<`${'GET' | 'POST'} /v1/${string}`, Operation>;

export type OperationName = keyof typeof operations;

/** The operations that the storefront interface answers. */
export const storefrontOperations = (Object.keys(operations) as OperationName[]).filter(
  (name) => 'storefront' in operations[name],
);

type Part<Name extends OperationName, Key extends string> =
  (typeof operations)[Name] extends Record<Key, infer Schema extends z.ZodType> ? Schema : null;

type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;
type Read<Schema> = Schema extends z.ZodType ? ReadOnly<z.output<Schema>> : undefined;

/** The values for the names in braces of an operation's path. */
export type Path<Name extends OperationName> = ReadOnly<Given<Part<Name, 'path'>>>;

/** The body of an operation's request. */
export type Body<Name extends OperationName> = ReadOnly<Given<Part<Name, 'body'>>>;

/** A request as its operation has parsed it: with defaults, and without unknown members. */
export interface Asked<Name extends OperationName> {
  readonly path: Read<Part<Name, 'path'>>;
  readonly query: Read<Part<Name, 'query'>>;
  readonly body: Read<Part<Name, 'body'>>;
}

/** Answers a request. The signal aborts when the client disconnects; only some operations end then. */
export type Answering<Name extends OperationName> = (
  asked: Asked<Name>,
  signal: AbortSignal,
) => Found<Name> | Promise<Found<Name>>;

/** Operations that answer with a stream from another source, or that a reader answers. */
type AnsweredElsewhere = 'GET /v1/changes' | 'GET /v1/rows/copy' | ReadOperation;

/** The daemon's function for each other operation. */
export type Answers = { readonly [Name in Exclude<OperationName, AnsweredElsewhere>]: Answering<Name> };

type Found<Name extends OperationName> =
  | Answer<Name>
  | ((typeof operations)[Name] extends Record<'missing', unknown> ? null : never);

export type Answer<Name extends OperationName> = ReadOnly<z.output<(typeof operations)[Name]['answer']>>;

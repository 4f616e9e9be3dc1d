import { hash } from 'node:crypto';
import type { CheckoutInformation, SharedMembers } from '../catalogue/checkout-information.rules.ts';
import type { Experience } from '../catalogue/experience.rules.ts';
import type { ProductEntry } from '../catalogue/product.rules.ts';
import type { Tag } from '../catalogue/tag.rules.ts';
import type { VariantsAnswer } from '../catalogue/variant.rules.ts';
import type { AvailabilityAnswer } from '../dates/availability.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import type { Members } from '../kernel/values/exact-json.ts';
import { parseExact } from '../kernel/values/exact-json.ts';
import type { MayPublish } from '../kernel/values/public-address.ts';
import { type LaneEntry, laneEntries } from '../schedule/lanes.rules.ts';
import type {
  ListQuestion,
  Question,
  ReactivateQuestion,
  SubscribeQuestion,
  SubscriptionQuestion,
} from './adapter.rules.ts';
import type { callLimits } from './call-limits.ts';
import { decodeAvailability } from './decode-availability.ts';
import {
  decodeCheckoutInformation,
  decodeExperiencePage,
  decodeProductDetail,
  decodeProductPage,
  decodeTagPage,
  decodeVariantsRead,
  type Page,
} from './decode-product.ts';
import type { Limiter } from './limiter.ts';
import { membersIn, VolatileMembers, volatileIn } from './passing-members.ts';
import type { Reading } from './reading.ts';
import type { CameText, ServiceAsker } from './service-asker.ts';

type List = Omit<ListQuestion, 'page' | 'after'>;

/**
 * Finds pages of lists by their number, also where only the answer to a page says how the next one is asked for. Remembers
 * what each answer said last; after a start, and after a refusal, it reads its way from the first page to the one asked
 * for.
 */
export class ListPages {
  /** `numbered`: every page can be asked for by its number. */
  readonly #kind: 'numbered' | 'perhaps chained';
  /** By list, at the index of a page: `after` in its question. Null: the pages of the list have numbers. */
  readonly #chains = new Map<string, (string | null)[] | null>();

  constructor(kind: 'numbered' | 'perhaps chained') {
    this.#kind = kind;
  }

  async read<Entry>(
    list: List,
    page: number,
    ask: (question: ListQuestion) => Promise<Reading<Page<Entry>>>,
  ): Promise<Reading<Page<Entry>>> {
    const name = Object.values(list).join(' ');
    for (;;) {
      const chain = this.#kind === 'numbered' ? null : this.#chains.get(name);
      if (chain === null) return ask({ ...list, page, after: null });
      const at = Math.min(page, (chain?.length ?? 2) - 1);
      const reading = await ask({ ...list, page: at, after: chain?.[at] ?? null });
      if (reading.kind === 'refused') this.#chains.delete(name);
      if (reading.kind !== 'read') return reading;
      const { next } = reading.value;
      if (at === 1 && next === undefined) this.#chains.set(name, null);
      else this.#note(name, at, next ?? null);
      if (at === page) return reading;
      if (next == null && this.#chains.get(name) !== null)
        return { ...reading, value: { ...reading.value, entries: [], rejected: [] } };
    }
  }

  #note(name: string, page: number, next: string | null): void {
    const chain = this.#chains.get(name) ?? [null, null];
    if (next === null) chain.length = page + 1;
    else chain[page + 1] = next;
    this.#chains.set(name, chain);
  }
}

/** The service. Callers name the lane, or that a notification requested the call. */
export interface Upstream {
  in(entry: LaneEntry): ServiceReads;
  /** Bytes of JSON received since the start, inflated: of availability, and of everything. */
  received(): { readonly availability: number; readonly all: number };
}

/**
 * Every read endpoint of the service, through the one limiter. Rejects with the signal's reason when a caller aborts.
 */
export interface ServiceReads {
  /** Pages count from 1, however the service counts them. `ordered`: in the order of popularity, as the profile asks for it. */
  productPage(
    page: number,
    language: string,
    currency: string,
    signal: AbortSignal,
    ordered?: 'ordered',
  ): Promise<Reading<Page<ProductEntry>>>;
  experiencePage(
    page: number,
    language: string,
    currency: string,
    signal: AbortSignal,
  ): Promise<Reading<Page<Experience>>>;
  tagPage(page: number, language: string, currency: string, signal: AbortSignal): Promise<Reading<Page<Tag>>>;
  product(read: ReadRequest & { currency: string }): Promise<Reading<ProductEntry>>;
  checkoutInformation(read: ReadRequest): Promise<Reading<CheckoutInformation>>;
  variants(read: ReadRequest): Promise<Reading<VariantsAnswer>>;
  availability(
    read: ReadRequest & { from: string; to: string; currency: string },
  ): Promise<Reading<AvailabilityAnswer>>;
}

export interface ReadRequest {
  readonly product_id: number;
  readonly language: string;
  /** The hash of the stored body: if the same body comes again, nothing is parsed. */
  readonly known_hash: string | null;
  readonly signal: AbortSignal;
  /** Called when the turn of the request has come, before it is sent. */
  readonly begins?: (() => void) | undefined;
}

export interface UpstreamOptions {
  readonly asker: ServiceAsker;
  readonly limiter: Limiter;
  readonly page_size: number;
  readonly limits: ReturnType<typeof callLimits>;
  /** True if the distributor's commission is mirrored. */
  readonly commission: boolean;
  /** Decides which image URLs are given to readers. */
  readonly mayPublish: MayPublish;
}

/** The decoder's generation: part of every body hash, so that a new one reads unchanged bodies again. */
const decoderGeneration = '3';

export function createUpstream(options: UpstreamOptions): Upstream {
  const { page_size, commission, mayPublish } = options;
  const received = { availability: 0, all: 0 };
  const read = reader(options, received);
  const common = new CommonMembers();
  const pages = new ListPages(options.asker.mayChainPages ? 'perhaps chained' : 'numbered');

  const readsIn = (entry: LaneEntry): ServiceReads => ({
    productPage: (page, language, currency, signal, order) => {
      const list = { kind: 'products', page_size, language, currency, ordered: order !== undefined } as const;
      return pages.read(list, page, (question) =>
        read(
          entry,
          question,
          // The first page shows whether the language is ignored. A later one may be short and have no texts in it.
          (came, asker) =>
            decodeProductPage(asker.rows(question, came), currency, mayPublish, question.page === 1 ? language : null),
          { signal },
        ),
      );
    },
    experiencePage: (page, language, currency, signal) => {
      const list = { kind: 'experiences', page_size, language, currency, ordered: false } as const;
      return pages.read(list, page, (question) =>
        read(entry, question, (came, asker) => decodeExperiencePage(asker.rows(question, came), currency, mayPublish), {
          signal,
        }),
      );
    },
    tagPage: (page, language, currency, signal) => {
      const list = { kind: 'tags', page_size, language, currency, ordered: false } as const;
      return pages.read(list, page, (question) =>
        read(entry, question, (came, asker) => decodeTagPage(asker.rows(question, came)), { signal }),
      );
    },
    product: ({ product_id, language, currency, ...how }) => {
      const question = { kind: 'product', product_id, language, currency } as const;
      return read(
        entry,
        question,
        (came, asker) => decodeProductDetail(asker.row(question, came).row, product_id, currency, mayPublish),
        how,
      );
    },
    checkoutInformation: ({ product_id, language, ...how }) => {
      const question = { kind: 'checkout_information', product_id, language } as const;
      return read(
        entry,
        question,
        (came, asker) =>
          decodeCheckoutInformation(asker.row(question, came).row, (members) =>
            common.of(product_id, members, came.sent_at),
          ),
        how,
      );
    },
    variants: ({ product_id, language, ...how }) => {
      const question = { kind: 'variants', product_id, language } as const;
      return read(entry, question, (came, asker) => decodeVariantsRead(asker.rows(question, came)), how);
    },
    availability: async ({ product_id, language, from, to, currency, ...how }) => {
      const question = { kind: 'availability', product_id, language, currency, from, to } as const;
      const wanted = { from, to, currency, commission };
      const reading = await read(
        entry,
        question,
        (came, asker) => decodeAvailability(asker.row(question, came, parseFast), wanted),
        // An answer without dates reads the same whatever the range: the range is part of what was said.
        { ...how, salt: `${commission ? 'c' : ''}${from}/${to}`, passing: ({ rest }) => volatileIn(rest) },
      );
      if ('bytes' in reading) received.availability += reading.bytes;
      return reading;
    },
  });
  const reads = new Map(laneEntries.map((entry) => [entry, readsIn(entry)]));
  return { in: (entry) => reads.get(entry) ?? readsIn(entry), received: () => ({ ...received }) };
}

type ReadQuestion = Exclude<Question, SubscriptionQuestion | SubscribeQuestion | ReactivateQuestion>;

interface HowToRead<Value> {
  readonly known_hash?: string | null;
  readonly salt?: string;
  readonly signal: AbortSignal;
  readonly begins?: (() => void) | undefined;
  /** Returns the members of an answer that feed no column; absent: any change of the bytes counts. */
  readonly passing?: (value: Value) => readonly string[];
}

/** One read through the limiter: decoded, or found unchanged by its hash. `received` counts its bytes. */
function reader({ asker, limiter, limits }: UpstreamOptions, received: { all: number }) {
  const members = new VolatileMembers();
  return async function read<Value>(
    entry: LaneEntry,
    question: ReadQuestion,
    decode: (came: CameText & { readonly sent_at: Instant }, asker: ServiceAsker) => Value,
    { known_hash = null, salt = '', signal, begins, passing = () => [] }: HowToRead<Value>,
  ): Promise<Reading<Value>> {
    const prepared = asker.prepare(question);
    if (prepared.kind === 'failed') return prepared;
    // Calls of one kind share a path, whichever product they are about.
    const path = 'product_id' in question ? `${question.kind}/{product_id}` : question.kind;
    const about = 'product_id' in question ? question.product_id : path;
    const within = 'page' in question ? limits.list : limits.other;
    const prefix = `${decoderGeneration}${asker.tag}${salt}:`;
    const known = known_hash?.startsWith(prefix) ? known_hash.slice(prefix.length) : null;
    const names = known === null ? [] : membersIn(known);
    const whole = known !== null && (members.isWholeDue(known) || (entry === 'checkout' && names.length > 0));
    const hashOf = (parts: readonly Buffer[]) => members.of(parts, names);
    const ask = async (turn: AbortSignal): Promise<Reading<Value>> => {
      begins?.();
      const how = { known_hash: whole ? null : known, ...(names.length > 0 ? { hashOf } : {}) };
      const outcome = await asker.send(prepared, { ...within, signal: turn, ...how });
      if (outcome.kind !== 'answer') return outcome;
      const { sent_at, called_at = sent_at, bytes, text } = outcome;
      const came = { sent_at, called_at, bytes };
      received.all += bytes;
      const isKnown = outcome.hash === known;
      if (isKnown && !whole) return { kind: 'unchanged', hash: `${prefix}${known}`, ...came };
      try {
        const value = decode(outcome, asker);
        const found = passing(value);
        const suspected = members.suspectedOf(found);
        const same = suspected.join() === names.join();
        const fingerprint = same ? outcome.hash : members.of([Buffer.from(text)], suspected);
        const hash = `${prefix}${fingerprint}`;
        if (known === null || !('product_id' in question)) return { kind: 'read', value, hash, ...came };
        const { product_id } = question;
        const decoded = { product_id, before: known, after: fingerprint, passing: found };
        const stored = (changed: boolean) => members.stored(decoded, changed);
        return { kind: 'read', value, hash, ...came, stored };
      } catch (error) {
        return asker.undecodable(question, error, text);
      }
    };
    return limiter.run(ask, signal, entry, about, path);
  };
}

/**
 * Sixteen digits or more in a number: beyond what a JavaScript number holds exactly. Written out, sixteen characters are
 * skipped at a time where one is no digit, which takes a tenth of the time of a counted repetition.
 */
const longNumber = new RegExp('[0-9.]'.repeat(16));

/**
 * Parses with `parseExact` if a number needs it, else with JSON.parse, which is several times as fast and then exact
 * too.
 */
function parseFast(text: string): unknown {
  return longNumber.test(text) ? parseExact(text) : JSON.parse(text);
}

/*
 * A service may put members beside the payload that nobody declares, such as the name of its release. They have the same
 * value in all answers, and change in all of them at once: that is no change of a product.
 */

/** Answers of the last minute are compared, and no more than so many. */
const [spanMs, mostAnswers] = [60_000, 50];
/** Products whose answers must have the same value before it is common to all. */
const leastProducts = 5;
/** Members that are followed at most. */
const mostMembers = 20;

interface Seen {
  readonly product_id: number;
  readonly at: number;
  readonly value: string;
}

/** Members that the answers of a minute share, and those of one product alone. Learned by each process from scratch. */
export class CommonMembers {
  /** The last answers, by the name of the member; the newest stands last. */
  readonly #seen = new Map<string, Seen[]>();

  /** Takes the undeclared members of an answer. Returns those of them that are not the product's own, as far as known. */
  of(product_id: number, members: Members, at: Instant): SharedMembers {
    const [common, unsure]: [string[], string[]] = [[], []];
    for (const name of new Set([...this.#seen.keys(), ...Object.keys(members)])) {
      const last = (this.#seen.get(name) ?? []).filter((seen) => Math.abs(at - seen.at) <= spanMs);
      if (last.length === 0 && !Object.hasOwn(members, name)) {
        this.#seen.delete(name);
        continue;
      }
      if (!this.#seen.has(name) && this.#seen.size >= mostMembers) continue;
      last.push({ product_id, at, value: fingerprint(members[name]) });
      this.#seen.set(name, last.slice(-mostAnswers));
      if (Object.hasOwn(members, name)) listOf(last, { common, unsure })?.push(name);
    }
    return { common, unsure };
  }
}

/** Returns the list that a member belongs to; null: its value is the product's own. */
function listOf<List>(
  last: readonly Seen[],
  { common, unsure }: Readonly<Record<'common' | 'unsure', List>>,
): List | null {
  const turns = last.filter(({ value }, index) => index > 0 && value !== last[index - 1]?.value).length;
  // A new release has another value from one answer on. Values that come again are those of products.
  if (turns > 1) return null;
  return turns === 0 && new Set(last.map((seen) => seen.product_id)).size >= leastProducts ? common : unsure;
}

function fingerprint(value: unknown): string {
  return value === undefined ? '' : hash('sha256', JSON.stringify(value)).slice(0, 16);
}

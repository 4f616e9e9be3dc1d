import { decimalText } from '../../kernel/values/exact-json.ts';
import type { Question } from '../../service/adapter.rules.ts';
import type { Exchange } from './assumption.rules.ts';

/** An anonymised answer of the service, which a sandbox can serve. */
export interface Recorded {
  /** Requested resource, by our name: `products`, `availability` … */
  readonly resource: string;
  readonly product_id: number | null;
  /** UTC day of the request. */
  readonly recorded_on: string;
  /** The question that was asked. It is the same for every service, so that an adapter can be tried on it. */
  readonly question: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly body: unknown;
}

/** Members whose values are fixed words of the service. They are kept. */
const vocabulary = new Set([
  'language', 'languages', 'currency', 'supplier_currency', 'timezone', 'sale_status', 'sale_status_reason',
  'sale_status_expected_reopen', 'variant_type', 'policy', 'type', 'language_selection', 'requires_visitors_details',
  'error_code', 'code', 'error', 'status', 'patch', 'promo_label', 'time', 'date', 'capped_at',
]); // biome-ignore format: words
const word = /^[\w./+-]{1,40}$/;
const instant = /^\d{4}-\d{2}-\d{2}([T ][\d:.+Z-]*)?$|^\d{1,2}:\d{2}(:\d{2})?$/;
const idName = /(^|_)ids?$/;
const priceName = /price|fee|commission|value|amount|cost/;
const placeName = /^(lat|lng|latitude|longitude|distance)$/;

/**
 * Anonymises answers: replaces texts, ids, prices, places and addresses, equal ones by equal ones. Keeps shape, types,
 * nulls, unknown members, dates, the service's fixed words, and dangerous characters of texts. Numbers keep their
 * printed form.
 */
export function record(exchanges: readonly Exchange[], now: number): Recorded[] {
  const names = pseudonyms();
  const recorded_on = new Date(now).toISOString().slice(0, 10);
  return exchanges
    .filter(({ status }) => status !== null)
    .map(({ name, status, question, json, failure }) => ({
      resource: name === 'nowhere' ? name : question.kind,
      product_id: 'product_id' in question ? names.id(question.product_id) : null,
      recorded_on,
      question: anonymousQuestion(question, names),
      status: status ?? 0,
      body:
        failure === null
          ? anonymous(json, '', names)
          : {
              success: false,
              error_code: word.test(failure.code) ? failure.code : 'refused',
              message: 'As it was recorded.',
            },
    }));
}

/** A cursor is the service's, and may say anything. */
function anonymousQuestion(question: Question, names: Pseudonyms): Recorded['question'] {
  if ('product_id' in question) return { ...question, product_id: names.id(question.product_id) };
  return 'after' in question && question.after !== null ? { ...question, after: 'recorded' } : { ...question };
}

type Pseudonyms = ReturnType<typeof pseudonyms>;

function pseudonyms() {
  const numbered = (kind: Map<string, number>) => (value: string) => {
    const known = kind.get(value) ?? kind.size + 1;
    kind.set(value, known);
    return known;
  };
  const [ids, texts, hosts, files, places] = Array.from({ length: 5 }, () => numbered(new Map<string, number>()));
  const count = (kind: typeof ids, value: string) => kind?.(value) ?? 0;
  return {
    id: (value: number | string) => 100_000 + count(ids, String(value)),
    text: (value: string) => count(texts, value),
    host: (value: string) => count(hosts, value),
    file: (value: string) => count(files, value).toString(16).padStart(32, '0'),
    place: (value: string) => count(places, value),
  };
}

function anonymous(value: unknown, name: string, names: Pseudonyms): unknown {
  if (Array.isArray(value)) {
    const ids = value.length > 0 && value.every((each) => Number.isSafeInteger(each) && Number(each) >= 1000);
    return value.map((each: unknown) => anonymous(each, ids ? 'id' : name, names));
  }
  if (typeof value === 'string') return anonymousText(value, name, names);
  const decimal = typeof value === 'boolean' ? null : decimalText(value);
  if (decimal !== null) return anonymousNumber(decimal, name, names);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [
      /^\d+$/.test(member) ? String(names.id(member)) : member,
      anonymous(inner, member, names),
    ]),
  );
}

function anonymousNumber(text: string, name: string, names: Pseudonyms): unknown {
  if (idName.test(name) && /^\d+$/.test(text)) return names.id(text);
  if (priceName.test(name)) return JSON.rawJSON(otherPrice(text));
  if (placeName.test(name)) return JSON.rawJSON(inForm(text, 10 + names.place(text) / 100));
  return JSON.rawJSON(text);
}

/**
 * Returns another amount with as many decimals: about half as much and a little more, which keeps the order of amounts.
 */
function otherPrice(text: string): string {
  return Number(text) === 0 || !Number.isFinite(Number(text))
    ? text
    : inForm(text, Number(text) * 0.53 + 1.07 * Math.sign(Number(text)));
}

function inForm(text: string, value: number): string {
  return value.toFixed(/\.(\d+)$/.exec(text)?.[1]?.length ?? 0);
}

function anonymousText(text: string, name: string, names: Pseudonyms): string {
  if (text.trim() === '' || instant.test(text)) return text;
  if (vocabulary.has(name) && word.test(text)) return text;
  if (/^\d+$/.test(text) && idName.test(name)) return String(names.id(text));
  if (/^-?\d+(\.\d+)?$/.test(text) && priceName.test(name)) return otherPrice(text);
  if (/^[a-z][a-z0-9+.-]*:\S/i.test(text)) return anonymousAddress(text, names);
  return anonymousProse(text, names.text(text));
}

const filler = 'Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore ';
/** Matches dangerous characters, line breaks and tags. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const special = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]|<\/?[a-z]+>/gi;

/** Returns filler about as long as the text, followed by its line breaks, control characters and tags. */
function anonymousProse(text: string, number: number): string {
  const length = Math.min(Math.ceil(text.length / 8) * 8, 1_000_000);
  const plain = `Text ${number} ${filler.repeat(Math.ceil(length / filler.length))}`
    .slice(0, Math.max(length, 8))
    .trim();
  const found = text.match(special)?.slice(0, 50).join('') ?? '';
  return found === '' ? plain : `${plain} ${found}`;
}

/** Anonymises a URL. Keeps its scheme, whether its host is private, the form of its path and the names of its query. */
function anonymousAddress(text: string, names: Pseudonyms): string {
  const url = URL.parse(text);
  const file = /\/([0-9a-f]{32})(\.\w{1,5})?(?=\?|$)/.exec(text);
  const tail = file === null ? `/p${names.text(text)}` : `/images/content/${names.file(file[1] ?? '')}${file[2] ?? ''}`;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return `${text.slice(0, text.indexOf(':'))}:${text.includes('://') ? '//' : 'x'}${tail}`;
  const query = [...url.searchParams]
    .map(([name, value]) => `${name}=${/^[\d.]{1,6}$/.test(value) ? value : 'x'}`)
    .join('&');
  const host = /^(10|127|169\.254|192\.168)\./.test(url.hostname)
    ? url.hostname.replace(/\d+\.\d+$/, '0.1')
    : `host-${names.host(url.hostname)}.example`;
  return `${url.protocol}//${host}${tail}${query === '' ? '' : `?${query}`}`;
}

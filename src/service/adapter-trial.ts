import { counted } from '../kernel/format.ts';
import type { Question } from './adapter.rules.ts';
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
import type { CameText, ServiceAsker } from './service-asker.ts';

/** The result of reading an answer as the daemon would, without storing it. */
export interface AdapterTrial {
  /** `partly`: some rows of a list cannot be used. */
  readonly result: 'read' | 'partly' | 'refused' | 'failed';
  readonly says: string;
}

/** Builds the request of a question, and reads a recorded answer to it, as the daemon would. Sends nothing. */
export async function tryOn(
  asker: ServiceAsker,
  question: Question,
  { status, text }: CameText,
): Promise<AdapterTrial> {
  const prepared = asker.prepare(question);
  if (prepared.kind === 'failed') return { result: 'failed', says: prepared.message };
  const { method, path, query } = prepared.request;
  const names = Object.keys(query).join(', ');
  const asked = `${method} ${path}${names === '' ? '' : ` (${names})`}`;
  if (status >= 400) {
    const { code, message } = asker.refusalOf(question, { status, text });
    return { result: 'refused', says: `${asked}: ${status} ${code}, ${message}` };
  }
  try {
    const { says, result } = decoded(asker, question, { status, text });
    return { result, says: `${asked}: ${says}` };
  } catch (error) {
    const { kind, message } = asker.undecodable(question, error, text);
    return { result: kind, says: `${asked}: ${message}` };
  }
}

function decoded(asker: ServiceAsker, question: Question, came: CameText): AdapterTrial {
  switch (question.kind) {
    case 'products':
      return page(decodeProductPage(asker.rows(question, came), question.currency, anywhere));
    case 'experiences':
      return page(decodeExperiencePage(asker.rows(question, came), question.currency, anywhere));
    case 'tags':
      return page(decodeTagPage(asker.rows(question, came)));
    case 'product': {
      const { product_id, currency } = question;
      decodeProductDetail(asker.row(question, came).row, product_id, currency, anywhere);
      return read('a product');
    }
    case 'checkout_information':
      decodeCheckoutInformation(asker.row(question, came).row);
      return read('checkout information');
    case 'variants':
      return read(counted(decodeVariantsRead(asker.rows(question, came)).variants.length, 'variant'));
    case 'availability': {
      const { days, covered_to } = decodeAvailability(asker.row(question, came), { ...question, commission: false });
      return read(`${counted(days.size, 'date')}, up to ${covered_to}`);
    }
    default:
      asker.row(question, came);
      return read('a subscription');
  }
}

function read(says: string): AdapterTrial {
  return { result: 'read', says };
}

function page({ entries, rejected, total, next }: Page<unknown>): AdapterTrial {
  const [first] = rejected;
  const unusable = first === undefined ? '' : `, and ${rejected.length} that cannot be used: ${first}`;
  const follows = next === undefined ? ', pages by number' : next === null ? ', the last page' : ', and a next page';
  const says = `${counted(entries.length, 'row')}${unusable}${total === null ? '' : ` of ${total}`}${follows}`;
  return { result: rejected.length === 0 ? 'read' : entries.length === 0 ? 'failed' : 'partly', says };
}

const anywhere = () => true;

import { members, wholeNumber } from '../arguments.ts';
import type { Connection } from '../connection.ts';
import type { Editions } from '../editions.ts';
import { existing } from '../existing.ts';
import { around, kilometres } from '../near-place.ts';
import { FacetCounter, type Facets, noFacets } from './facets.ts';
import { Highlighter, type Piece } from './highlight.ts';
import {
  type Form,
  facetSql,
  fields,
  filterBindings,
  formOf,
  pageSql,
  type RankForm,
  rankSql,
  totalSql,
} from './hits-sql.ts';
import { checkQuestion, questionNames, type SearchQuestion } from './question.ts';
import { understoodSql } from './understood.ts';

export interface SearchHit {
  readonly product_id: number;
  readonly language: string;
  /** The language that its texts are in: the primary one where the service has none in `language`. */
  readonly language_shown: string;
  readonly title: string | null;
  /** The title in pieces, with those that were asked for. */
  readonly highlight: readonly Piece[];
  readonly tagline: string | null;
  readonly city_id: number | null;
  readonly city_name: string | null;
  readonly country_id: number | null;
  readonly country_name: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly sellable: 0 | 1;
  readonly rating: number | null;
  readonly rating_count: number | null;
  /** Its place in popularity, from 1. */
  readonly place: number;
  /**
   * Number of letters of the typed text, as it was read, that the product does not have; plus one if a word is read in a
   * less likely way.
   */
  readonly typos: number;
  /** First of these that, with those before it, has every word; null if no words were asked for, or it has only some. */
  readonly found_in: (typeof fields)[number] | null;
  /**
   * Price that a shop prints, in minor units of the currency: the least lowest_adult_price of the dates, else of the
   * product, else from_price.
   */
  readonly price: number | null;
  /** Type that the price is for: adult, or another type if no adult can buy; null if it is from_price, or not stated. */
  readonly price_variant_type: string | null;
  readonly currency: string;
  /** First date with tickets left, of those asked for; null if none were asked for. */
  readonly date: string | null;
  readonly distance_km: number | null;
  readonly checked_at: number;
  readonly stale: 0 | 1;
}

export interface Found {
  readonly hits: readonly SearchHit[];
  readonly total: number;
  /** The typed words that what was found has, folded. Generic words beside others are in neither list. */
  readonly matched: readonly string[];
  /** Typed words that were left out, because nothing has them, or nothing has them together with the others. */
  readonly dropped: readonly string[];
  /** Typed text with its typos corrected; null if there were none. */
  readonly meant: string | null;
  /** Null if not asked for. */
  readonly facets: Facets | null;
}

interface Understood {
  readonly words: string;
  readonly parts: string;
  readonly extras: string;
  readonly every: string;
  readonly best: string;
}

/** A product of a page. */
interface Rank {
  readonly product_id: number;
  readonly rating_count: number | null;
  readonly place: number;
  readonly typos: number;
  readonly field: number | null;
  /** The words that the best hit of all pages has: a bit for each of their numbers. */
  readonly kept: number;
  readonly total: number;
  /** Values to count, in one row of a page with facets; null: there are none, or more than are counted. */
  readonly counted: string | null;
}

type Row = Omit<SearchHit, 'highlight' | 'found_in' | 'distance_km'> & {
  readonly field: number | null;
  readonly chord2: number | null;
};

export function searcher(connection: Connection, editions: Editions): (question?: SearchQuestion) => Found {
  const understand = connection.query<object, Understood>(understoodSql);
  const highlighter = new Highlighter(connection);
  const named = existing(connection);
  const ranks = connection.queries<Rank, RankForm>(rankSql);
  const pages = connection.queries<Row, Form>(pageSql);
  const totals = connection.queries<{ total: number }, Form>(totalSql);
  const values = connection.queries<{ counted: string }, Form>(facetSql);
  const facets = new FacetCounter(connection);

  function answer(question: SearchQuestion): Found {
    const language = editions.language(question.language);
    const currency = editions.currency(question.currency);
    named(question);
    const text = question.text !== undefined && /\S/.test(question.text) ? question.text : undefined;
    const meaning = text === undefined ? null : (understand.get({ text, language }) ?? null);
    if (text !== undefined && meaning === null) return nothing(question, text);
    const form = formOf(question, meaning !== null);
    const bound = {
      ...filterBindings(question),
      ...(question.near === undefined ? {} : around(question.near)),
      every: meaning?.every,
      best: meaning?.best,
      parts: meaning?.parts,
      extras: meaning?.extras,
      language,
      currency,
      limit: wholeNumber('limit', question.limit, { least: 1, absent: 20 }),
      offset: wholeNumber('offset', question.offset, { most: 100_000 }),
    };
    const ranked = ranks({ ...form, first: bound.offset === 0 }).all(bound);
    const page = ranked.map((rank) => [rank.product_id, rank.rating_count, rank.place, rank.typos, rank.field]);
    const rows = page.length === 0 ? [] : pages(form).all({ ...bound, page: JSON.stringify(page) });
    const total = ranked[0]?.total ?? (bound.offset > 0 ? (totals(form).get(bound)?.total ?? 0) : 0);
    const titles = rows.map(({ title }) => title ?? '');
    const pieces =
      meaning === null
        ? titles.map((text) => [{ text, matched: false }])
        : highlighter.pieces(titles, meaning.every, language);
    return {
      hits: rows.map((row, index) => hitOf(row, pieces[index] ?? [])),
      total,
      ...wordsOf(meaning, ranked[0]?.kept),
      facets: form.facets ? facetsOf(ranked, form, bound) : null,
    };
  }

  function facetsOf(ranked: readonly Rank[], form: Form, bound: object): Facets {
    const counted = ranked.find((rank) => rank.counted !== null)?.counted ?? values(form).get(bound)?.counted;
    return counted === undefined ? noFacets : facets.count(counted, bound);
  }

  return (asked = {}) => {
    const question = members('question', asked, questionNames);
    checkQuestion(question);
    return connection.transaction(() => answer(question));
  };
}

function nothing(question: SearchQuestion, text: string): Found {
  const facets = question.facets === true ? noFacets : null;
  const dropped =
    text
      .slice(0, 200)
      .toLowerCase()
      .match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
  return { hits: [], total: 0, matched: [], dropped, meant: null, facets };
}

function hitOf({ field, chord2, ...row }: Row, pieces: readonly Piece[]): SearchHit {
  return {
    ...row,
    highlight: row.title === null ? [] : pieces,
    found_in: field === null ? null : (fields[field] ?? null),
    distance_km: chord2 === null ? null : kilometres(chord2),
  };
}

function wordsOf(meaning: Understood | null, bits: number | undefined) {
  if (meaning === null) return { matched: [], dropped: [], meant: null };
  const words = JSON.parse(meaning.words) as { n: number; word: string; generic: 0 | 1 }[];
  const parts = JSON.parse(meaning.parts) as { n: number; cost: number; meant: string }[];
  const kept = new Map(parts.filter(({ n }) => bits === undefined || (bits >> n) & 1).map((part) => [part.n, part]));
  const asked = words.filter(({ generic }) => generic === 0);
  const mended = [...kept.values()].filter(({ cost }) => cost > 1);
  const fixed = words.map(({ n, word }) => mended.find((part) => part.n === n)?.meant ?? word);
  return {
    matched: asked.filter(({ n }) => kept.has(n)).map(({ word }) => word),
    dropped: asked.filter(({ n }) => !kept.has(n)).map(({ word }) => word),
    meant: mended.length > 0 ? fixed.join(' ') : null,
  };
}

import { number, printable } from '../kernel/format.ts';
import { isApart, listsAgreeing } from './absence.rules.ts';

/*
 * Decides when a list is incomplete: a walk met fewer rows than the service counts, or rows that could not be used.
 * Such a walk does not fill the mirror, and proves nothing about absent rows.
 */

/** Counts of a walk. */
export interface ListCount {
  /** Different usable rows that were met. */
  readonly met: number;
  /** Number of rows that the service counts. Null: it states none, or its count is ignored. */
  readonly counted: number | null;
  /** Rows that could not be used, for example because they have no id. */
  readonly unusable: number;
}

/** Returns how many rows the list has: as many as the service counts or sent, whichever is more. */
export function rowsCounted({ met, counted, unusable }: ListCount): number {
  return Math.max(counted ?? 0, met + unusable);
}

/** Returns whether a walk met as many rows as the service counts, usable or not. */
export function metAll({ met, counted, unusable }: ListCount): boolean {
  return met + unusable >= (counted ?? 0);
}

/** Facts about a walk of a short list, to be compared with those of another walk. */
export interface ShortWalk {
  readonly counted: number;
  readonly met: number;
  readonly unusable: number;
  /** Hash of the ids that were met. */
  readonly row_hash: string;
}

/** A list whose last walks were short. */
export interface ShortList extends ShortWalk {
  /** Number of lists that agree, at least half an hour apart. */
  readonly lists: number;
  /** Instant at which the last walk that counts as one of them began. */
  readonly agreed_at: number;
}

/** Returns whether two short walks met the same rows and lack as many. */
export function isSameShortage(a: ShortWalk, b: ShortWalk): boolean {
  return a.row_hash === b.row_hash && a.counted === b.counted && a.unusable === b.unusable;
}

/**
 * Returns whether a short list is accepted as it is: three walks at least half an hour apart met the same rows and the
 * same shortage. A list without a usable row never is.
 */
export function isSettled(lists: number, met: number): boolean {
  return lists >= listsAgreeing && met > 0;
}

/**
 * Returns a short list after another short walk, which began at `started_at`. `before` is null if it was not short
 * until now.
 */
export function afterShortWalk(before: ShortList | null, walk: ShortWalk, started_at: number): ShortList {
  if (before === null) return { ...walk, lists: 1, agreed_at: started_at };
  const { lists, agreed_at } = before;
  // A catalogue that changes while its count stays wrong is no new shortage. A walk that meets far fewer rows is one.
  const stays = isSettled(lists, before.met) && walk.met >= 0.9 * before.met && lacking(walk) <= lacking(before);
  if (stays) return { ...walk, lists, agreed_at };
  if (!isSameShortage(before, walk)) return { ...walk, lists: 1, agreed_at: started_at };
  return isApart(agreed_at, started_at)
    ? { ...walk, lists: lists + 1, agreed_at: started_at }
    : { ...walk, lists, agreed_at };
}

function lacking({ counted, met }: ShortWalk): number {
  return counted - met;
}

/** Facts about a short list, for people. */
export interface ToldShortList {
  readonly resource: string;
  /** Language and currency of the list, like `en/EUR`. */
  readonly edition: string;
  /** 1: these are the primary ones. */
  readonly primary: 0 | 1;
  readonly counted: number;
  readonly met: number;
  readonly unusable: number;
  /** Reason why the first of the unusable rows could not be used, with its members; null if all were usable. */
  readonly unusable_example: string | null;
}

/** Describes a short list: `130 of 230 products`, in a further language `130 of 230 products in nl/EUR`. */
export function shortListText(list: ToldShortList): string {
  const { resource, edition, primary, counted, met, unusable, unusable_example } = list;
  const rows = `${number(met)} of ${number(counted)} ${resource}${primary === 1 ? '' : ` in ${edition}`}`;
  if (unusable === 0) return rows;
  const which = unusable === 1 ? '1 row' : `${number(unusable)} rows`;
  return `${rows}; ${which} could not be used: ${printable(unusable_example ?? 'row without id')}`;
}

/**
 * Returns whether the mirror is not filled because of a short list: the primary product list, unless three lists agree.
 */
export function blocksFill({ resource, primary, settled }: ToldShortList & { readonly settled: 0 | 1 }): boolean {
  return resource === 'products' && primary === 1 && settled === 0;
}

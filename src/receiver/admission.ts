import type { Instant } from '../kernel/clock.ts';
import type { KnownAddresses } from './addresses.store.ts';
import { callerOf, isAllowed, type Networks } from './allowlist.ts';

/** Facts about a request before its body is read. */
export interface RequestFacts {
  readonly method: string;
  /** The target in the request line, in origin form. */
  readonly target: string;
  /** The address of the socket's other end. */
  readonly peer: string;
  /** All X-Forwarded-For headers, in order. */
  readonly forwarded: readonly string[];
}

export interface AdmissionRules {
  /** The path of public_url, without a slash at its end. */
  readonly path_prefix: string;
  readonly allow: Networks;
  readonly trusted: Networks;
  readonly addresses: KnownAddresses;
}

/** `dropped`: the address was valid once, and its grace period is over. It is still in use, which is a condition. */
type RefusalReason = 'path' | 'method' | 'address' | 'token' | 'dropped';

export interface Admitted {
  readonly admitted: true;
  readonly subscription_id: string;
  readonly epoch: number;
  readonly caller: string;
}

export interface Refused {
  readonly admitted: false;
  readonly reason: RefusalReason;
  /** The subscription of the token; null: the token is unknown. */
  readonly subscription_id: string | null;
  readonly epoch: number | null;
  readonly caller: string;
}

const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/**
 * Decides whether a request may deliver, and to which subscription. The token and the caller are looked up for every
 * request, before any reason to refuse is considered.
 */
export function admit(facts: RequestFacts, rules: AdmissionRules, now: Instant): Admitted | Refused {
  const cut = facts.target.lastIndexOf('/');
  const token = facts.target.slice(cut + 1);
  const found = rules.addresses.recognise(token, now);
  const known = callerOf(facts.peer, facts.forwarded, rules.trusted);
  const caller = known ?? facts.peer;
  const { subscription_id = null, epoch = null } = found ?? {};
  const refuse = (reason: RefusalReason): Refused => ({ admitted: false, reason, subscription_id, epoch, caller });
  if (facts.target.slice(0, Math.max(0, cut)) !== rules.path_prefix || !tokenPattern.test(token)) return refuse('path');
  if (facts.method !== 'POST') return refuse('method');
  if (!isAllowed(known, rules.allow)) return refuse('address');
  if (found === null) return refuse('token');
  if (found.standing === 'dropped') return refuse('dropped');
  return { admitted: true, subscription_id: found.subscription_id, epoch: found.epoch, caller };
}

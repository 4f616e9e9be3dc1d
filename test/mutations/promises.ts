import type { Mutation } from './mutation.ts';

export function promised(): Mutation[] {
  return [];
}

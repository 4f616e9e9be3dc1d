/** Returns whether a version like `3.40.1` comes before another. */
export function olderThan(version: string, needed: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  const first = needed.findIndex((part, index) => (parts[index] ?? 0) !== part);
  return first !== -1 && (parts[first] ?? 0) < (needed[first] ?? 0);
}

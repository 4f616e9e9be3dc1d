/** Builds the program before the first test, or each worker would. Where it cannot be built, the tests that start it say why. */
export default async function buildOnce(): Promise<void> {
  await import('./built-program.ts').catch(() => {});
}

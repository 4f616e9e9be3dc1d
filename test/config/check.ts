import { type Config, parseConfig } from '../../src/config/load.ts';
import { CataloguedError } from '../../src/kernel/errors.ts';

/** What a configuration that is right but for `text` is refused for: one line a problem; none where it is accepted. */
export function problemsOf(text: string, env: Record<string, string> = {}): readonly string[] {
  return refusalOf(() => parseConfig(text, env))?.details ?? [];
}

/** The configuration with these keys and values. */
export function configOf(values: unknown): Config {
  return parseConfig(JSON.stringify(values)).config;
}

/** The error that `action` ends with, or null where it does not. */
export function refusalOf(action: () => unknown): CataloguedError | null {
  try {
    action();
    return null;
  } catch (error) {
    if (error instanceof CataloguedError) return error;
    throw error;
  }
}

/** Everything a configuration needs, and `more` after it. */
export function configText(more: string): string {
  return `service: { base_url: https://api.example.com }\n${more}`;
}

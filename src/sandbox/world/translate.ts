/** Returns a text in a language: English as it stands, every other marked, so that a mix-up shows. */
export function translate(text: string, language: string): string {
  return language === 'en' ? text : `${text} [${language}]`;
}

/** Returns a text in a language: English unchanged, any other with a mark, so that a mix-up shows. */
export function translate(text: string, language: string): string {
  return language === 'en' ? text : `${text} [${language}]`;
}

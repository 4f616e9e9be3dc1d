// For a service that pages by an offset, and takes the language from a header.

export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  const { lang, page, page_size, ...query } = asked.query ?? {};
  const list = question.page === undefined ? {} : { limit: page_size, offset: (question.page - 1) * page_size };
  const header = lang === undefined ? {} : { 'accept-language': lang };
  return { ...asked, query: { ...query, ...list }, headers: { ...asked.headers, ...header } };
}

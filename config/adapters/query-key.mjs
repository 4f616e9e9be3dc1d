// For a service that takes the key from the query.

export function request(question, settings, standard) {
  const asked = standard.request(question, { ...settings, key: null }, standard);
  return { ...asked, query: { ...asked.query, api_key: settings.key } };
}

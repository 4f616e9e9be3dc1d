// For a service whose subscription requests are plain JSON, signed with PS256 in a header.

export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (asked.sign === undefined) return asked;
  return {
    ...asked,
    headers: { ...asked.headers, 'content-type': 'application/json', 'x-signature': settings.token },
    body: JSON.stringify(asked.sign.payload),
    sign: { ...asked.sign, algorithm: 'PS256' },
  };
}

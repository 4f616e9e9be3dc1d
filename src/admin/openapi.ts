import { z } from 'zod';
import { version } from '../package.ts';
import type { Operation } from './api/operation.ts';

type Json = Record<string, unknown>;

/** The listener that is described. */
type Described = 'admin' | 'storefront';

/** The security schemes of the operator's interface. */
const operators = [{ token: [] }, { password: [] }];

/** Routes outside the API, which no command calls. */
const others: readonly [string, Json][] = [
  ['/', plain('Shows people whether the mirror is true, and if not, why', 'text/html')],
  [
    '/product',
    {
      ...plain('Shows people one product, and why it is shown so', 'text/html', { 404: 'it is not in the mirror' }),
      parameters: [{ name: 'id', in: 'query', required: true, schema: { type: 'integer' } }],
    },
  ],
  ['/metrics', plain('Returns the metrics for Prometheus', 'text/plain')],
  ['/openapi.json', plain('This document', 'application/json')],
  ['/healthz', { ...plain('Answers 200 while the process lives', 'application/json'), security: [] }],
  [
    '/readyz',
    {
      ...plain('Answers 200 once the mirror is filled and can be read', 'application/json', { 503: 'it is not' }),
      security: [],
    },
  ],
];

/** The form on the page. Programs use `POST /v1/resync`. */
const resyncForms: Json = {
  get: plain('Asks people what to read again, and shows them what that costs', 'text/html'),
  post: {
    summary: 'Starts the resync whose price was shown',
    responses: {
      303: { description: 'it is started' },
      403: { description: 'the form token is missing, changed or too old' },
    },
  },
};

/** Returns the operations of a listener as an OpenAPI 3.1 document. */
export function openApi(operations: Readonly<Record<string, Operation>>, door: Described): Json {
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: described(operation, door) };
  }
  for (const [path, get] of others) if (door === 'admin' || path === '/openapi.json') paths[path] = { get };
  if (door === 'admin') paths['/resync'] = resyncForms;
  return {
    openapi: '3.1.0',
    info: {
      title: 'catalogued',
      version,
      description: 'The local interface of a running daemon. Fields and paths are only ever added.',
    },
    security: door === 'admin' ? operators : [{ storefront: [] }, { public: [] }],
    paths,
    components: {
      schemas: { Refusal: schemaOf(refusal) },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'the admin token; none is needed on a unix socket' },
        password: { type: 'http', scheme: 'basic', description: 'the admin token as the password of any user' },
        storefront: {
          type: 'http',
          scheme: 'bearer',
          description: 'the storefront token, on storefront.listen; none is needed on a unix socket',
        },
        public: {
          type: 'http',
          scheme: 'bearer',
          description: 'storefront.public_key, on storefront.listen: reads only',
        },
      },
    },
  };
}

/** The body of every answer but 200. */
const refusal = z.object({
  error: z.string().meta({ description: 'stable, kebab-case' }),
  message: z.string(),
  hint: z.string().optional(),
});

function described(operation: Operation, door: Described): Json {
  const { summary, storefront, read, path, query, body, answer, refusals = {} } = operation;
  const security = [
    ...(door === 'admin' ? operators : []),
    { storefront: [] },
    ...(read === undefined ? [] : [{ public: [] }]),
  ];
  const parameters = [...parametersOf('path', path), ...parametersOf('query', query)];
  return {
    summary,
    ...(storefront === true ? { security } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } } }),
    responses: {
      200: { description: 'the answer', content: { 'application/json': { schema: schemaOf(answer) } } },
      ...refused({ 400: 'the request is invalid', ...refusals }),
    },
  };
}

function refused(refusals: Readonly<Record<number, string>>): Json {
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } };
  return Object.fromEntries(
    Object.entries({
      ...refusals,
      401: 'the token is missing or wrong',
      403: 'the request comes from a page of another origin',
    }).map(([status, description]) => [status, { description, content }]),
  );
}

function parametersOf(place: 'path' | 'query', schema: z.ZodObject | undefined): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...own }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: own,
  }));
}

/**
 * Returns the schema from the client's point of view: members with a default are optional, and answers may get more
 * members.
 */
function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...found } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // The bounds of every whole number in JavaScript say nothing.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return found;
}

function plain(summary: string, type: string, more: Record<number, string> = {}): Json {
  const responses = Object.fromEntries(Object.entries(more).map(([status, description]) => [status, { description }]));
  return { summary, responses: { 200: { description: 'the answer', content: { [type]: {} } }, ...responses } };
}

/**
 * The program of the login providers (`login-providers.ts`): Google as a real OpenID Connect
 * server, and GitHub as a real OAuth 2 server with the two calls of its API that a login makes.
 * Both consent at once. It runs until its parent is gone.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type MutableResponse,
  type MutableToken,
  OAuth2Issuer,
  OAuth2Server,
  OAuth2Service,
} from 'oauth2-mock-server';
import type { Addresses, Proven } from './login-providers.js';

const HOST = '127.0.0.1';
const GITHUB_ENDPOINTS = {
  authorize: '/login/oauth/authorize',
  token: '/login/oauth/access_token',
  userinfo: '/api/v3/user',
};
const GITHUB_EMAILS = '/api/v3/user/emails';

let proven: Proven;

async function startGoogle(): Promise<string> {
  const server = new OAuth2Server();
  await server.issuer.keys.generate('RS256');
  await server.start(0, HOST);
  server.service.on('beforeTokenSigning', ({ payload }: MutableToken) => {
    const { email, isVerified } = proven.google;
    Object.assign(payload, { sub: 'a', email, email_verified: isVerified });
  });
  return server.issuer.url ?? '';
}

async function startGithub(): Promise<string> {
  const issuer = new OAuth2Issuer();
  await issuer.keys.generate('RS256');
  const service = new OAuth2Service(issuer, GITHUB_ENDPOINTS);
  const tokens = new Set<string>();
  service.on('beforeResponse', ({ body }: MutableResponse) => {
    if (proven.isDying) process.exit(1);
    tokens.add(`Bearer ${Object(body).access_token}`);
  });
  service.on('beforeUserinfo', (response: MutableResponse, request: IncomingMessage) => {
    if (tokens.has(request.headers.authorization ?? '')) response.body = { id: 77 };
    else response.statusCode = 401;
  });
  const server = createServer((request, response) => {
    if (request.url !== GITHUB_EMAILS) return service.requestHandler(request, response);
    const { email, isVerified: verified } = proven.github;
    const isKnown = tokens.has(request.headers.authorization ?? '');
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isKnown ? [{ primary: true, email, verified }] : {}));
  });
  await new Promise<void>((resolve) => void server.listen(0, HOST, resolve));
  issuer.url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  return issuer.url;
}

const started = Promise.all([startGoogle(), startGithub()]);

/** Each message says whom the providers prove from now on, and is answered by their addresses. */
process.on('message', async (message: Proven) => {
  proven = message;
  const [google, github] = await started;
  const addresses: Addresses = { google, github };
  process.send?.(addresses);
});
process.on('disconnect', () => process.exit());

/** A certificate of `localhost` that nobody trusts, and its key, which protects nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsFiles } from '@svc/http';

/** Signed by itself, for a hundred years. */
export const CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUcQnuNoBe3lDtFgqqKhT+4adX/lkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNzA0MDI0OFoYDzIxMjYxMTAz
MDQwMjQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATfYQDD4Kk/WYvAJHAtKzN9Z54fuOy/FlYgv0OpC+iZFzubuoLzqHiJ
hjQire9zdQtTHcnxI7GaOh+7tcoI1I1Co2kwZzAdBgNVHQ4EFgQUAhqE7Zn/bzfL
N+QWjtGmGzvOMAgwHwYDVR0jBBgwFoAUAhqE7Zn/bzfLN+QWjtGmGzvOMAgwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIgd4xZZKXFr5+j9lYlF62EQKILW2JLuxEPz4zHkGRaNOsCIQCaLKpWTwmz
Gm31On8NbrFFwfGKFT8REcbhSNowozdcOQ==
-----END CERTIFICATE-----`.trim();

const KEY = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgrT256rinEuHZ1ADm
ZuSURbQVmwbOe9es6P9dmCGdOYGhRANCAATfYQDD4Kk/WYvAJHAtKzN9Z54fuOy/
FlYgv0OpC+iZFzubuoLzqHiJhjQire9zdQtTHcnxI7GaOh+7tcoI1I1C
-----END PRIVATE KEY-----`.trim();

/** Files in `directory`. */
export function writeCertificate(directory: string): TlsFiles {
  const files = { certificate: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
  writeFileSync(files.certificate, CERTIFICATE);
  writeFileSync(files.key, KEY);
  return files;
}

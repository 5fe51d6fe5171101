// Goal: a client cannot choose the address that it is counted by, and a proxy that is trusted is
// looked through. Method: peers and headers as they come, with what they must be read as.
import { describe, expect, test } from 'vitest';
import { ClientAddresses } from './client-address.js';
import { addressOf, NetworkError, Networks } from './networks.js';

const PROXIES = new Networks(['loopback', '10.0.0.0/8', '2001:db8:ff::/48', '192.0.2.7']);

function textOf(peer: string, forwarded = ''): string {
  return new ClientAddresses(PROXIES, 64).of(peer, forwarded).text;
}

describe('the client', () => {
  test.each([
    ['nobody trusted', '198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['a trusted proxy', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a trusted proxy without a header', '10.1.2.3', '', '10.1.2.3'],
    ['an entry that the client wrote itself', '10.1.2.3', '1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['a chain of proxies', '127.0.0.1', '203.0.113.9, 192.0.2.7,10.9.9.9', '203.0.113.9'],
    ['proxies alone', '127.0.0.1', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['rubbish at the end', '127.0.0.1', '203.0.113.9, unknown', '127.0.0.1'],
    ['rubbish behind a proxy', '127.0.0.1', '203.0.113.9, x, 10.0.0.2', '10.0.0.2'],
    ['empty entries', '127.0.0.1', '203.0.113.9,,', '127.0.0.1'],
    ['a port', '127.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['a port of IPv6', '127.0.0.1', '[2001:db8::9]:4711', '2001:db8::9'],
    ['IPv6 in brackets', '127.0.0.1', '[2001:db8::9]', '2001:db8::9'],
    ['a mapped peer', '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a mapped entry', '127.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['a proxy of IPv6', '2001:db8:ff:1::1', '2001:db8:1::1', '2001:db8:1::1'],
    ['a form that few readers know', '127.0.0.1', '0x7f.1', '127.0.0.1'],
    ['no address at all', '', '203.0.113.9', ''],
  ])('with %s', (_what, peer, forwarded, client) => {
    expect(textOf(peer, forwarded)).toBe(client);
  });

  test('is looked for in 32 entries at most', () => {
    expect(textOf('127.0.0.1', `203.0.113.9,${'10.0.0.1,'.repeat(40)}10.0.0.2`)).toBe('10.0.0.1');
  });

  test('says whether its peer is believed, whoever it is itself', () => {
    const addresses = new ClientAddresses(PROXIES, 64);
    expect(addresses.of('10.1.2.3', '203.0.113.9').isPeerTrusted).toBe(true);
    expect(addresses.of('203.0.113.9', '10.1.2.3').isPeerTrusted).toBe(false);
    expect(addresses.of('203.0.113.9', '10.1.2.3').isPeerTrusted).toBe(false);
  });

  test.each([
    ['192.0.2.1', 64, '192.0.2.1'],
    ['::ffff:192.0.2.1', 64, '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2:0:0:0:0/64'],
    ['2001:db8:1:2:ffff::', 64, '2001:db8:1:2:0:0:0:0/64'],
    ['2001:db8:1:ff2:3:4:5:6', 56, '2001:db8:1:f00:0:0:0:0/56'],
    ['2001:db8::1', 128, '2001:db8::1'],
  ])('%s is counted with a prefix of %i as %s', (peer, prefix, key) => {
    expect(new ClientAddresses(PROXIES, prefix).of(peer, '').key).toBe(key);
  });
});

describe('networks', () => {
  test.each(['10.0.0.0/33', '10.0.0/8', 'private/8', '::/129', '10.0.0.0/', '1.2.3.4/8/8', ''])(
    '`%s` is none',
    (entry) => {
      expect(() => new Networks([entry])).toThrow(NetworkError);
    },
  );

  test.each([
    ['private', '172.31.0.1', true],
    ['private', '172.32.0.1', false],
    ['private', 'fd00::1', true],
    ['loopback', '::1', true],
    ['::ffff:10.0.0.0/104', '10.200.0.1', true],
    ['0.0.0.0/0', '::1', false],
    ['192.0.2.7', '192.0.2.8', false],
  ])('%s, %s: %s', (entry, text, isIn) => {
    const address = addressOf(text);
    expect(address !== null && new Networks([entry]).has(address)).toBe(isIn);
  });

  test('of nothing hold nothing', () => {
    expect(new Networks([]).isEmpty).toBe(true);
  });
});

/** The version of this package; the test holds it against the manifest. */
export const VERSION = '2.1.0';

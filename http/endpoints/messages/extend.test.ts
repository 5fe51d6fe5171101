// Goal: seconds that the contract tables cannot wait for. Method: bodies by table, a fake service.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

test.each([
  ['{"x":1,"seconds":5}', 5],
  ['{"seconds":99999999999999999999999}', 2_147_483_647],
  ['{"seconds":1,"seconds":2}', 60],
])('%s', async (body, seconds) => {
  await front.client().request('/api/v1/lease/L%20ü/extend', { body });
  expect(front.service.submitted).toMatchObject([{ kind: 'extend', leaseId: 'L ü', seconds }]);
});

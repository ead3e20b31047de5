import { expect, test } from "vitest"

import { prefixShare } from "./requests.ts"

test.each<[name: string, bodies: string[], share: number]>([
  ["each extends the previous one", ['{"messages":[1]}', '{"messages":[1,2]}', '{"messages":[1,2,3]}'], 1],
  ["one starts differently", ['{"messages":[1]}', '{"messages":[9,2]}', '{"messages":[9,2,3]}'], 0.5],
  ["something follows the messages", ['{"messages":[1],"n":1}', '{"messages":[1],"n":1}'], 0],
])("the share of requests that keep the prefix: %s", (_name, bodies, share) => {
  expect(prefixShare(bodies)).toBe(share)
})

test("a single request is an error", () => {
  expect(() => prefixShare(['{"messages":[1]}'])).toThrow("two requests")
})

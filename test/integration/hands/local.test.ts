import { testHands } from "./every-place.ts"

testHands({
  name: "local",
  missing: undefined,
  prepare: () => Promise.resolve({ config: "terminal:\n  sandbox: off\n", env: {}, release: () => Promise.resolve() }),
})

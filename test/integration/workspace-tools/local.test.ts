import { testTools } from "./conformance.ts"

testTools({
  name: "local",
  missing: undefined,
  prepare: () => Promise.resolve({ config: "terminal:\n  sandbox: off\n", env: {}, release: () => Promise.resolve() }),
})

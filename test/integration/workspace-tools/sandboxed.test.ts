import { findBubblewrap } from "../../support/bubblewrap.ts"
import { testTools } from "./conformance.ts"

const bubblewrap = await findBubblewrap()

testTools({
  name: "sandboxed",
  missing: "missing" in bubblewrap ? bubblewrap.missing : undefined,
  prepare: () =>
    Promise.resolve({ config: "", env: { TERMINAL_SANDBOX: "required" }, release: () => Promise.resolve() }),
})

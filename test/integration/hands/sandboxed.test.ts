import { findBubblewrap } from "../../support/bubblewrap.ts"
import { testHands } from "./every-place.ts"

const bubblewrap = await findBubblewrap()

testHands({
  name: "sandboxed",
  missing: "missing" in bubblewrap ? bubblewrap.missing : undefined,
  prepare: () =>
    Promise.resolve({ config: "", env: { TERMINAL_SANDBOX: "required" }, release: () => Promise.resolve() }),
})

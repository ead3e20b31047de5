import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import { testWorkspace } from "./conformance.ts"

testWorkspace({
  name: "local",
  missing: undefined,
  hasBackgroundInput: true,
  open: async () => {
    const home = await temporaryHome()
    const workspace = createLocalWorkspace({ cwd: home.workdir, userHome: home.userHome, environment: home.env })
    return {
      workspace,
      directory: home.workdir,
      close: async () => {
        await workspace.close()
        await home[Symbol.asyncDispose]()
      },
    }
  },
})

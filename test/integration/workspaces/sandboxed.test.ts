import { tmpdir } from "node:os"

import { ok } from "../../../src/base/result.ts"
import { createLocalWorkspace } from "../../../src/exec/local/local-workspace.ts"
import { hiddenPaths } from "../../../src/exec/sandbox/hidden-paths.ts"
import { sandboxArguments } from "../../../src/exec/sandbox/sandbox-arguments.ts"
import { findBubblewrap } from "../../support/bubblewrap.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import { testWorkspace } from "./conformance.ts"

const bubblewrap = await findBubblewrap()

testWorkspace({
  name: "sandboxed",
  missing: "missing" in bubblewrap ? bubblewrap.missing : undefined,
  hasBackgroundInput: true,
  open: async () => {
    const home = await temporaryHome()
    const workspace = createLocalWorkspace({
      cwd: home.workdir,
      userHome: home.userHome,
      environment: home.env,
      openSandbox: () =>
        Promise.resolve(
          ok(({ cwd, stateDirectory, hasTerminal }) =>
            sandboxArguments({
              program: "program" in bubblewrap ? bubblewrap.program : "",
              writable: [home.workdir, tmpdir(), stateDirectory],
              readOnly: [],
              ...hiddenPaths({ userHome: home.userHome, hermesHome: home.path, hermesRoot: home.path }),
              network: false,
              cwd,
              keepTerminal: hasTerminal,
            }),
          ),
        ),
    })
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

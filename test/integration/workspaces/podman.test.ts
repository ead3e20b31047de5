import { openContainerWorkspace } from "../../../src/exec/container/container-workspace.ts"
import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import { temporaryHome } from "../../support/temporary-home.ts"
import { testWorkspace } from "./conformance.ts"
import { containerOptions } from "./container-options.ts"

testWorkspace({
  name: "podman",
  missing: podmanUnavailableReason(),
  hasBackgroundInput: false,
  open: async () => {
    const engine = startPodman()
    const home = await temporaryHome()
    const opened = await openContainerWorkspace(containerOptions(engine, home, { survivesProcess: false }))
    if (!opened.ok) throw new Error(opened.error)
    return {
      workspace: opened.value,
      directory: "/workspace",
      close: async () => {
        await opened.value.close()
        engine[Symbol.dispose]()
        await home[Symbol.asyncDispose]()
      },
    }
  },
})

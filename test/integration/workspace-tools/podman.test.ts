import { podmanUnavailableReason, startPodman } from "../../support/podman.ts"
import { testTools } from "./conformance.ts"

testTools({
  name: "podman",
  missing: podmanUnavailableReason(),
  prepare: () => {
    const engine = startPodman()
    return Promise.resolve({
      config: `terminal:\n  backend: docker\n  docker_image: ${engine.image}\n`,
      env: { HERMES_DOCKER_BINARY: engine.program },
      release: () => {
        engine[Symbol.dispose]()
        return Promise.resolve()
      },
    })
  },
})

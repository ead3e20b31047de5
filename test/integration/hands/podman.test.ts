import { podmanMissing, startPodman } from "../../support/podman.ts"
import { testHands } from "./every-place.ts"

testHands({
  name: "podman",
  missing: podmanMissing(),
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

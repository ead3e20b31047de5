import { createPresence } from "../session/open-session-marker.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** Lets other processes see that this one has the session open. */
export function presenceFacet({ taskId, options, services }: FacetContext): AppFacet {
  const presence = createPresence(services.home, taskId)
  return {
    name: "presence",
    // An unattended run announces itself with its first tool call; before that, another process cannot interfere with it.
    opened: () => {
      if (options.origin.attended()) presence.show()
    },
    toolStarting: () => {
      presence.show()
      return Promise.resolve(undefined)
    },
    rotated: ({ to }) => {
      presence.follow(to)
    },
    closed: () => {
      presence.leave()
    },
  }
}

import { createTodoList } from "../../agent/todo-list.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"

/** The task list that the model keeps for itself. It is stored in the results of its tool and restored from there. */
export function todoFacet({ services, session }: FacetContext): AppFacet | undefined {
  const tool = [...services.registry.snapshot().tools.values()].find(({ role }) => role === "task-list")
  if (tool === undefined) return undefined
  const todo = createTodoList({ toolName: tool.name, nudgeAfter: services.config.get("todo.nudge_after") })
  return {
    name: "task list",
    ports: () => ({ todo }),
    opened: () => {
      todo.hydrate(session().conversation.history)
    },
    beforeTurn: ({ history }) => {
      todo.hydrate(history)
      return Promise.resolve(undefined)
    },
    historyChanged: (history) => {
      todo.hydrate(history)
    },
    afterTool: todo.note,
  }
}

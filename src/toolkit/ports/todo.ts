export const TODO_STATUSES = ["pending", "in_progress", "completed", "cancelled"] as const
export type TodoStatus = (typeof TODO_STATUSES)[number]

export interface TodoItem {
  readonly id: string
  readonly content: string
  readonly status: TodoStatus
}

/** The task list of the session. */
export interface TodoPort {
  read(): readonly TodoItem[]
  /** Replaces the list, or with `merge` changes items by id. Returns the new list. */
  write(
    items: readonly Partial<Record<keyof TodoItem, unknown>>[],
    options: { readonly merge: boolean },
  ): readonly TodoItem[]
}

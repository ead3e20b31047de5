import type { SessionStore } from "../../state/store.ts"

/** Reading what past sessions hold. */
export interface SessionsPort {
  /** Rejects with a `StoreError` when the store cannot be used. */
  store(): Promise<
    Pick<
      SessionStore,
      "search" | "list" | "session" | "messages" | "around" | "anchoredView" | "resumeTarget" | "lineageRoot"
    >
  >
}

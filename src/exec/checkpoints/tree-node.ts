/** A directory as the last scan found it and as a checkpoint stores it. Names are byte strings. */
export interface DirectoryNode extends StatData {
  readonly kind: "directory"
  readonly children: ReadonlyMap<string, TreeNode>
  /** Id of the tree object, which covers everything below, permission bits included. */
  readonly id: string
}

export interface FileNode extends StatData {
  readonly kind: "file" | "link"
  readonly size: number
  readonly id: string
}

/** An entry that a checkpoint cannot hold. The tree records its name, and a restore leaves files of that name untouched. */
export interface OmittedNode {
  readonly kind: "omitted"
  readonly reason: OmissionReason
}

export type OmissionReason = "too-large" | "unreadable" | "special"
export type TreeNode = DirectoryNode | FileNode | OmittedNode

/** The `stat` fields that reveal a change: while all of them stay the same, so does the content. */
export interface StatData {
  /** Includes the file type bits. */
  readonly mode: number
  readonly mtimeMs: number
  readonly ctimeMs: number
  readonly ino: number
  /**
   * False when the last change came so shortly before the scan that a further change could have the same timestamp (git calls
   * this "racily clean"). The next scan then reads the content again.
   */
  readonly settled: boolean
}

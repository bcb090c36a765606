// Package solver chooses an allocation for every server of a core.System.
//
// There are two solvers with the same method, Solve(system, constraints):
//
//   - GreedySolver serves the servers one by one, by priority. Among equals it begins with the one
//     that would lose most by its second choice. It is fast and as published. Without a limit it is
//     exact: each server gets its best candidate.
//   - MIPSolver solves the mixed-integer program to a proven bound: it serves the most servers of
//     the most important priority, then of the next, and among all ways to do so takes the
//     cheapest. It begins with the greedy solution and is never worse, except for a mix in which
//     several variants have a minimum.
//
// Where the stock does not suffice, the saturation policy shares out the rest. Solution.Shortfalls
// names every server with less than it wants, and the reason.
//
// Solvers are values and safe for concurrent use. Equal input gives an equal solution, whatever its
// order: ties go to the lower cost, then to the name.
package solver

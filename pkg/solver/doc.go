// Package solver chooses an allocation for every server of a core.System.
//
// There are two solvers of one shape, Solve(system, constraints):
//
//   - GreedySolver serves the servers one by one, by priority, and among equals
//     the one first that would lose most by its second choice. It is fast,
//     and as published. Without a limit it is exact: each server has its best.
//   - MIPSolver solves the mixed-integer program to a proven bound: it serves the
//     most servers of the most important priority, then of the next, and among
//     all ways to do so takes the cheapest. It begins with the greedy solution and
//     is never worse, but for a mix in which several variants have a minimum.
//
// Servers that the stock does not suffice for get what the saturation policy
// gives them of what is left; every server with less than it wants is named, with
// the reason, in Solution.Shortfalls.
//
// Solvers are values and safe for concurrent use. Equal input gives an equal
// solution, in whatever order it is given: ties go to the lower cost, then to the
// name.
package solver

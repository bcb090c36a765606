// Package report writes what came of simulations as one HTML file that needs nothing else: it opens
// without a network, and prints.
//
// It shows, for each [Scenario], cost against attainment with the clairvoyant
// beside it, the load, the replicas and the latencies over time, every decision
// with its reason, and the measures in a table. Without JavaScript the tables
// remain.
//
// The package measures nothing and judges little. It computes:
//
//   - The order of policies. First those that reach the wanted attainment, by
//     cost; then the others, by attainment. Ties go by name.
//   - The lines that are drawn at first: the best two policies of this project and
//     the best two of the others. A reader switches the rest on.
//   - One sentence that compares the best policy of this project with the best of
//     the others, whichever is better.
//   - Fewer points. A series of more than 600 is thinned stretch by stretch to its
//     first, least, greatest and last value and one gap (Jugel et al., M4: A
//     Visualization-Oriented Time Series Data Aggregation, VLDB 2014, with the gap
//     added). No point is moved or invented.
//
// The page shows unknown values as absent, never as zero.
//
// A link to a report may end in #scenario=1&time=3600: the second scenario, with
// the cursor at one hour.
//
// A [Document] is data: names and reasons may hold anything. They reach the file through
// html/template, and the page itself only through text nodes. A content security policy in the file
// (CSP) forbids every fetch.
package report

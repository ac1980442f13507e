// The independent solver of the tests and of the benchmark: LEMON's NetworkSimplex and CostScaling.
#include <lemon/cost_scaling.h>
#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/mincost/plain.h"

namespace
{

using Graph = lemon::StaticDigraph;

struct Loaded {
    Graph graph;
    std::vector<const plain_arc *> arcs; // in the graph's order

    explicit Loaded(const plain &problem)
    {
        for (uint32_t a = 1; a <= problem.max_arc; a++)
            if (problem.arcs[a].tail)
                arcs.push_back(&problem.arcs[a]);
        std::stable_sort(arcs.begin(), arcs.end(),
                         [](auto *a, auto *b) { return a->tail < b->tail; });
        std::vector<std::pair<int, int>> ends;
        for (auto *arc : arcs)
            ends.emplace_back(int(arc->tail), int(arc->head));
        graph.build(int(problem.max_node) + 1, ends.begin(), ends.end());
    }
};

template <class Solver>
bool solve(const plain &problem, int64_t *ret_cost, int64_t *ret_cpu_ns)
{
    Loaded loaded(problem);
    const Graph &graph = loaded.graph;
    Graph::ArcMap<int64_t> lower(graph), upper(graph), cost(graph);
    Graph::NodeMap<int64_t> supply(graph, 0);
    int64_t sum = 0;
    for (size_t i = 0; i < loaded.arcs.size(); i++) {
        auto arc = graph.arc(int(i));
        if (loaded.arcs[i]->lower > loaded.arcs[i]->capacity)
            return false;
        lower[arc] = loaded.arcs[i]->lower;
        upper[arc] = loaded.arcs[i]->capacity;
        cost[arc] = loaded.arcs[i]->cost;
    }
    for (uint32_t v = 1; v <= problem.max_node; v++)
        if (problem.node_there[v]) {
            supply[graph.node(int(v))] = problem.supply[v];
            sum += problem.supply[v];
        }
    if (sum != 0)
        return false;
    Solver solver(graph);
    solver.lowerMap(lower).upperMap(upper).costMap(cost).supplyMap(supply);
    int64_t start = cpu_now_ns();
    bool optimal = solver.run() == Solver::OPTIMAL;
    *ret_cpu_ns = cpu_now_ns() - start;
    if (optimal)
        *ret_cost = solver.template totalCost<int64_t>();
    return optimal;
}

} // namespace

bool lemon_solve(const plain *problem, lemon_solver solver, int64_t *ret_cost, int64_t *ret_cpu_ns)
{
    return solver == LEMON_COST_SCALING
               ? solve<lemon::CostScaling<Graph, int64_t, int64_t>>(*problem, ret_cost, ret_cpu_ns)
               : solve<lemon::NetworkSimplex<Graph, int64_t, int64_t>>(*problem, ret_cost,
                                                                       ret_cpu_ns);
}
